import io.delta.kernel.TableManager;
import io.delta.kernel.data.FilteredColumnarBatch;
import io.delta.kernel.data.Row;
import io.delta.kernel.defaults.engine.DefaultEngine;
import io.delta.kernel.engine.Engine;
import io.delta.kernel.internal.InternalScanFileUtils;
import io.delta.kernel.internal.ScanImpl;
import io.delta.kernel.utils.CloseableIterator;
import java.io.IOException;
import org.apache.hadoop.conf.Configuration;

/**
 * The files of a Delta table's newest snapshot, as Delta Kernel reads them from its log: the first query that Spark
 * plans over one, to say the same, takes seconds. All in one call, as each one from Python has its price.
 */
public class LakeFiles {
    /** Two lines a file: its path, and what Delta noted of its columns (JSON; {} where nothing is). */
    public String of(Configuration configuration, String table) throws IOException {
        Engine engine = DefaultEngine.create(configuration);
        ScanImpl scan = (ScanImpl) TableManager.loadSnapshot(table).build(engine).getScanBuilder().build();
        StringBuilder told = new StringBuilder();
        CloseableIterator batches = scan.getScanFiles(engine, true);
        try {
            while (batches.hasNext()) {
                CloseableIterator rows = ((FilteredColumnarBatch) batches.next()).getRows();
                try {
                    while (rows.hasNext()) {
                        tell((Row) rows.next(), told);
                    }
                } finally {
                    rows.close();
                }
            }
        } finally {
            batches.close();
        }
        return told.toString();
    }

    private static void tell(Row file, StringBuilder told) throws IOException {
        String path = InternalScanFileUtils.getAddFileStatus(file).getPath();
        if (InternalScanFileUtils.getDeletionVectorDescriptorFromRow(file) != null) {
            throw new IOException(path + ": rows of it are deleted by a deletion vector, which no lake of ours has");
        }
        Row added = file.getStruct(InternalScanFileUtils.ADD_FILE_ORDINAL);
        int stats = InternalScanFileUtils.ADD_FILE_STATS_ORDINAL;
        told.append(path).append('\n').append(added.isNullAt(stats) ? "{}" : added.getString(stats)).append('\n');
    }
}

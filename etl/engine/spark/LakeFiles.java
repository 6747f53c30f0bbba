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
 * Lists the files of a Delta table's newest snapshot. Delta Kernel reads them from the log, which takes less time than
 * the first query that Spark plans. One call returns all files, because each call from Python is slow.
 */
public class LakeFiles {
    /** Returns two lines for each file: its path, and its column statistics as JSON ({} if it has none). */
    public String of(Configuration configuration, String table) throws IOException {
        Engine engine = DefaultEngine.create(configuration);
        ScanImpl scan = (ScanImpl) TableManager.loadSnapshot(table).build(engine).getScanBuilder().build();
        StringBuilder lines = new StringBuilder();
        CloseableIterator batches = scan.getScanFiles(engine, true);
        try {
            while (batches.hasNext()) {
                CloseableIterator rows = ((FilteredColumnarBatch) batches.next()).getRows();
                try {
                    while (rows.hasNext()) {
                        append((Row) rows.next(), lines);
                    }
                } finally {
                    rows.close();
                }
            }
        } finally {
            batches.close();
        }
        return lines.toString();
    }

    private static void append(Row file, StringBuilder lines) throws IOException {
        String path = InternalScanFileUtils.getAddFileStatus(file).getPath();
        if (InternalScanFileUtils.getDeletionVectorDescriptorFromRow(file) != null) {
            throw new IOException(path + ": a deletion vector removes some of its rows; Permanode writes none");
        }
        Row added = file.getStruct(InternalScanFileUtils.ADD_FILE_ORDINAL);
        int stats = InternalScanFileUtils.ADD_FILE_STATS_ORDINAL;
        lines.append(path).append('\n').append(added.isNullAt(stats) ? "{}" : added.getString(stats)).append('\n');
    }
}

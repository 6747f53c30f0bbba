import com.datastax.driver.core.AuthProvider;
import com.datastax.driver.core.PlainTextAuthProvider;
import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.IOException;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.IntBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import org.apache.cassandra.config.DatabaseDescriptor;
import org.apache.cassandra.io.sstable.CQLSSTableWriter;
import org.apache.cassandra.io.sstable.SSTableLoader;
import org.apache.cassandra.io.util.File;
import org.apache.cassandra.locator.InetAddressAndPort;
import org.apache.cassandra.net.OutboundConnectionSettings;
import org.apache.cassandra.streaming.StreamEvent;
import org.apache.cassandra.streaming.StreamEventHandler;
import org.apache.cassandra.streaming.StreamState;
import org.apache.cassandra.streaming.StreamingChannel;
import org.apache.cassandra.streaming.async.NettyStreamingConnectionFactory;
import org.apache.cassandra.utils.NativeSSTableLoaderClient;
import org.apache.cassandra.utils.OutputHandler;

/**
 * Writes rows from standard input to SSTables and streams those to the nodes that own them, table by table until the
 * input ends. etl/writers/sstables.py, the other end of the pipe, documents the format.
 *
 * Janino, which pyspark contains, compiles this file: no lambdas, no inferred types, small methods. A failure ends the
 * process with a stack trace on standard error.
 */
public class SSTables {
    static final int BUFFER_MIB = 64;
    static final int ANY_PORT = 7000;
    /** The driver takes two seconds to end, so the owners are not queried for each table. */
    static final long KNOWN_NS = 60L * 1000 * 1000 * 1000;
    static final byte[] DIGITS = "0123456789abcdef".getBytes(StandardCharsets.US_ASCII);

    static Nodes nodes;
    static String queried;
    static long queriedAt;

    public static void main(String[] args) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        // Every server reads this format. The client would choose the newest one.
        Class.forName("org.apache.cassandra.io.sstable.format.big.BigFormat$BigVersion");
        DatabaseDescriptor.clientInitialization(false);
        DatabaseDescriptor.setStreamThroughputOutboundBytesPerSec(0);
        DatabaseDescriptor.setEntireSSTableStreamThroughputOutboundMebibytesPerSec(0);
        DataInputStream input = new DataInputStream(new BufferedInputStream(System.in, 1 << 16));
        String directory = next(input);
        while (directory != null) {
            answers.println(table(input, directory));
            answers.flush();
            directory = next(input);
        }
        System.exit(0);
    }

    /** Returns the directory of the next table, or null at the end of the input. */
    static String next(DataInputStream input) throws IOException {
        try {
            return text(input);
        } catch (EOFException end) {
            return null;
        }
    }

    /** Writes and streams one table. Returns its number of rows. */
    static long table(DataInputStream input, String directory) throws Exception {
        String create = text(input);
        String insert = text(input);
        String kinds = text(input);
        List hosts = new ArrayList();
        for (String host : text(input).split(",")) {
            hosts.add(host);
        }
        int port = input.readInt();
        String user = text(input);
        String password = text(input);
        AuthProvider login = user.isEmpty() ? null : new PlainTextAuthProvider(user, password);
        long rows = write(input, directory, create, insert, kinds);
        String query = hosts + ":" + port + " " + user + " " + new java.io.File(directory).getParentFile().getName();
        if (!query.equals(queried) || System.nanoTime() - queriedAt > KNOWN_NS) {
            nodes = new Nodes(addresses(hosts, port), login);
            queried = query;
            queriedAt = System.nanoTime();
        }
        stream(directory);
        return rows;
    }

    static Collection addresses(List hosts, int port) {
        List found = new ArrayList();
        for (Object host : hosts) {
            found.add(new InetSocketAddress((String) host, port));
        }
        return found;
    }

    static long write(DataInputStream input, String directory, String create, String insert, String kinds)
            throws Exception {
        CQLSSTableWriter writer = CQLSSTableWriter.builder().inDirectory(directory).forTable(create).using(insert)
            .withBufferSizeInMiB(BUFFER_MIB).build();
        long total = 0;
        int rows = input.readInt();
        while (rows >= 0) {
            batch(input, writer, kinds, rows);
            total += rows;
            rows = input.readInt();
        }
        writer.close();
        return total;
    }

    /** Sends every file to every node that owns part of it. Throws IOException if some were left out. */
    static void stream(String directory) throws Exception {
        Promises promises = new Promises();
        SSTableLoader loader = new SSTableLoader(new File(directory), nodes, new OutputHandler.SystemOutput(true, true));
        StreamEventHandler[] listeners = {promises};
        StreamState done = (StreamState) loader.stream(Collections.EMPTY_SET, listeners).get();
        String[] files = new java.io.File(directory).list();
        int written = 0;
        for (String file : files) {
            written += file.endsWith("-Data.db") ? 1 : 0;
        }
        if (promises.files < written || done.hasFailedSession() || done.hasAbortedSession()) {
            throw new IOException("the cluster took " + promises.files + " files, of " + written + " and more");
        }
    }

    /** Adds the rows of one Arrow batch: validity, offsets if there are any, and data of each column. */
    static void batch(DataInputStream input, CQLSSTableWriter writer, String kinds, int rows) throws Exception {
        int columns = kinds.length();
        byte[][] valid = new byte[columns][];
        IntBuffer[] offsets = new IntBuffer[columns];
        byte[][] data = new byte[columns][];
        for (int column = 0; column < columns; column++) {
            valid[column] = bytes(input);
            if (varies(kinds.charAt(column))) {
                offsets[column] = ByteBuffer.wrap(bytes(input)).order(ByteOrder.LITTLE_ENDIAN).asIntBuffer();
            }
            data[column] = bytes(input);
        }
        for (int row = 0; row < rows; row++) {
            ByteBuffer[] values = new ByteBuffer[columns];
            for (int column = 0; column < columns; column++) {
                values[column] = isNull(valid[column], row) ? CQLSSTableWriter.UNSET_VALUE
                    : value(kinds.charAt(column), offsets[column], data[column], row);
            }
            writer.rawAddRow(Arrays.asList(values));
        }
    }

    static boolean isNull(byte[] valid, int row) {
        return valid.length > 0 && (valid[row >> 3] >> (row & 7) & 1) == 0;
    }

    static boolean varies(char kind) {
        return kind == 'h' || kind == 'b';
    }

    /** Returns a value in Cassandra's encoding: an id as hex, a number in big-endian order. */
    static ByteBuffer value(char kind, IntBuffer offsets, byte[] data, int row) {
        if (varies(kind)) {
            byte[] found = Arrays.copyOfRange(data, offsets.get(row), offsets.get(row + 1));
            return ByteBuffer.wrap(kind == 'h' ? hex(found) : found);
        }
        int width = kind == 'd' ? 4 : kind - '0';
        byte[] number = new byte[width];
        for (int at = 0; at < width; at++) {
            number[at] = data[(row + 1) * width - 1 - at];
        }
        if (kind == 'd') {
            // Arrow counts days from 1970, CQL from 2^31 days before 1970.
            number[0] ^= (byte) 0x80;
        }
        return ByteBuffer.wrap(number);
    }

    static byte[] hex(byte[] id) {
        byte[] text = new byte[2 * id.length];
        for (int at = 0; at < id.length; at++) {
            text[2 * at] = DIGITS[id[at] >> 4 & 15];
            text[2 * at + 1] = DIGITS[id[at] & 15];
        }
        return text;
    }

    static String text(DataInputStream input) throws IOException {
        return new String(bytes(input), StandardCharsets.UTF_8);
    }

    static byte[] bytes(DataInputStream input) throws IOException {
        byte[] all = new byte[input.readInt()];
        input.readFully(all);
        return all;
    }

    /** Counts the files that were announced to nodes. The loader does not report files that it skips. */
    static class Promises implements StreamEventHandler {
        volatile long files = 0;

        public synchronized void handleStreamEvent(StreamEvent event) {
            if (event.eventType == StreamEvent.Type.STREAM_PREPARED) {
                files += ((StreamEvent.SessionPreparedEvent) event).session.getTotalFilesToSend();
            }
        }

        public void onSuccess(Object state) {
        }

        public void onFailure(Throwable error) {
        }
    }

    /** The addresses of the cluster's nodes and the ranges that each owns, according to the nodes. */
    static class Nodes extends NativeSSTableLoaderClient {
        boolean known = false;

        Nodes(Collection addresses, AuthProvider login) {
            super(addresses, ANY_PORT, login, null);
        }

        public void init(String keyspace) {
            if (!known) {
                super.init(keyspace);
                known = true;
            }
        }

        public StreamingChannel.Factory getConnectionFactory() {
            return new Direct();
        }
    }

    /** Connects to the address that a node reports, because a client has no table of preferred addresses. */
    static class Direct extends NettyStreamingConnectionFactory {
        public boolean supportsPreferredIp() {
            return false;
        }

        public StreamingChannel create(InetSocketAddress to, int version, StreamingChannel.Kind kind)
                throws IOException {
            InetAddressAndPort node = InetAddressAndPort.getByAddress(to);
            return connect(new OutboundConnectionSettings(node).withConnectTo(node), version, kind);
        }

        public StreamingChannel create(InetSocketAddress to, InetSocketAddress preferred, int version,
                StreamingChannel.Kind kind) throws IOException {
            return create(to, version, kind);
        }
    }
}

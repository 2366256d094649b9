import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.BufferSupplier;

/** What only Kafka 4.3.0 has, or has under another signature. */
final class Dialect {
    private Dialect() {
    }

    static ByteBuffer filter(MemoryRecords records, MemoryRecords.RecordFilter filter) {
        ByteBuffer room = ByteBuffer.allocate(1 << 20);
        ByteBuffer filtered = records.filterTo(filter, room, BufferSupplier.NO_CACHING).outputBuffer();
        filtered.flip();
        return filtered;
    }

    static ByteBuffer validate(Map<String, Object> question) {
        throw new UnsupportedOperationException("Kafka 4 no longer converts on append");
    }
}

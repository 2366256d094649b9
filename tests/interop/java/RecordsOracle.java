import java.io.InputStream;
import java.io.OutputStream;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Collectors;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.errors.RetriableException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.message.KRaftVersionRecord;
import org.apache.kafka.common.message.LeaderChangeMessage;
import org.apache.kafka.common.message.SnapshotFooterRecord;
import org.apache.kafka.common.message.SnapshotHeaderRecord;
import org.apache.kafka.common.message.VotersRecord;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.protocol.ObjectSerializationCache;
import org.apache.kafka.common.record.*;
import org.apache.kafka.common.record.internal.*;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.ByteBufferOutputStream;

/**
 * Answers questions about records with Kafka's own classes: one JSON object a line in, one a line out. Bytes travel
 * as base64. The broker's questions (topics, producing, consuming) are in Clients, messages of the wire in Messages;
 * what differs between Kafka's versions is in Dialect, of which each version has its own.
 */
public final class RecordsOracle {
    private RecordsOracle() {
    }

    public static void main(String[] arguments) throws Exception {
        Questions.answer((question, answer) -> {
            try {
                answer.put("answer", answer(question));
            } catch (Throwable error) {
                answer.put("failed", error.toString());
                answer.put("kind", error.getClass().getSimpleName());
                answer.put("code", Errors.forException(Errors.maybeUnwrapException(error)).code());
            }
        });
    }

    private static Object answer(Map<String, Object> question) throws Exception {
        String asked = (String) question.get("ask");
        switch (asked) {
            case "read":
                return read(bytes(question, "bytes"));
            case "write":
                return text(write(question));
            case "marker":
                return text(marker(question));
            case "leader_change":
                return text(leaderChange(question));
            case "leader_change_value":
                return text(leaderChangeValue(question));
            case "quorum":
                return text(quorum(question));
            case "patch":
                return text(patch(question));
            case "filter":
                return text(filter(question));
            case "compress":
                return text(compress(question));
            case "decompress":
                return text(decompress(question));
            case "validate":
                return text(Dialect.validate(question));
            case "message":
                return text(Messages.write(question));
            case "errors":
                return errors();
            default:
                return Clients.answer(asked, question);
        }
    }

    // -- reading ---------------------------------------------------------------------------------------------------

    private static Map<String, Object> read(ByteBuffer bytes) {
        Map<String, Object> seen = new LinkedHashMap<>();
        List<Map<String, Object>> batches = new ArrayList<>();
        seen.put("batches", batches);
        try {
            for (MutableRecordBatch batch : MemoryRecords.readableRecords(bytes).batches()) {
                batches.add(readBatch(batch));
            }
        } catch (RuntimeException error) {
            seen.put("error", error.getClass().getSimpleName());
            seen.put("message", String.valueOf(error.getMessage()));
        }
        return seen;
    }

    private static Map<String, Object> readBatch(MutableRecordBatch batch) {
        Map<String, Object> seen = new LinkedHashMap<>();
        try {
            readHeader(batch, seen);
            batch.ensureValid();
            List<Map<String, Object>> records = new ArrayList<>();
            for (Record record : batch) {
                record.ensureValid();
                records.add(readRecord(batch, record));
            }
            seen.put("records", records);
        } catch (RuntimeException error) {
            seen.put("error", error.getClass().getSimpleName());
            seen.put("message", String.valueOf(error.getMessage()));
        }
        return seen;
    }

    private static void readHeader(MutableRecordBatch batch, Map<String, Object> seen) {
        OptionalLong horizon = batch.deleteHorizonMs();
        seen.put("magic", batch.magic());
        seen.put("is_crc_valid", batch.isValid());
        seen.put("crc", batch.checksum());
        seen.put("size", batch.sizeInBytes());
        seen.put("codec", batch.compressionType().id);
        seen.put("timestamp_type", batch.timestampType().id);
        seen.put("last_offset", batch.lastOffset());
        seen.put("next_offset", batch.nextOffset());
        seen.put("max_timestamp", batch.maxTimestamp());
        seen.put("is_transactional", batch.isTransactional());
        seen.put("is_control", batch.isControlBatch());
        seen.put("delete_horizon_ms", horizon.isPresent() ? horizon.getAsLong() : null);
        seen.put("partition_leader_epoch", batch.partitionLeaderEpoch());
        seen.put("producer_id", batch.producerId());
        seen.put("producer_epoch", batch.producerEpoch());
        seen.put("base_sequence", batch.baseSequence());
        seen.put("last_sequence", batch.lastSequence());
        seen.put("count", batch.countOrNull());
        seen.put("base_offset", batch.baseOffset());
    }

    private static Map<String, Object> readRecord(RecordBatch batch, Record record) {
        Map<String, Object> seen = new LinkedHashMap<>();
        List<Object[]> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(new Object[] {header.key(), text(header.value())});
        }
        seen.put("offset", record.offset());
        seen.put("timestamp", record.timestamp());
        seen.put("key", text(record.key()));
        seen.put("value", text(record.value()));
        seen.put("headers", headers);
        seen.put("sequence", record.sequence());
        if (batch.isControlBatch()) {
            seen.put("control", readControl(record));
        }
        return seen;
    }

    private static Map<String, Object> readControl(Record record) {
        Map<String, Object> seen = new LinkedHashMap<>();
        ControlRecordType type = ControlRecordType.parse(record.key());
        seen.put("type", type.name());
        if (type == ControlRecordType.COMMIT || type == ControlRecordType.ABORT) {
            seen.put("coordinator_epoch", EndTransactionMarker.deserialize(record).coordinatorEpoch());
        } else if (type == ControlRecordType.LEADER_CHANGE) {
            LeaderChangeMessage change = ControlRecordUtils.deserializeLeaderChangeMessage(record);
            seen.put("version", change.version());
            seen.put("leader_id", change.leaderId());
            seen.put("voters", change.voters().stream().map(LeaderChangeMessage.Voter::voterId).toArray());
            seen.put("granting_voters",
                change.grantingVoters().stream().map(LeaderChangeMessage.Voter::voterId).toArray());
        }
        return seen;
    }

    // -- writing ---------------------------------------------------------------------------------------------------

    private static ByteBuffer write(Map<String, Object> spec) {
        byte magic = (byte) number(spec, "magic");
        ByteBufferOutputStream out = new ByteBufferOutputStream(1 << 16);
        MemoryRecordsBuilder builder = new MemoryRecordsBuilder(out, magic,
            compression((String) spec.get("codec"), (Integer) spec.get("level")),
            TimestampType.values()[(int) number(spec, "timestamp_type") + 1],
            number(spec, "base_offset"), number(spec, "log_append_time"), number(spec, "producer_id"),
            (short) number(spec, "producer_epoch"), (int) number(spec, "base_sequence"),
            Boolean.TRUE.equals(spec.get("transactional")), false, (int) number(spec, "partition_leader_epoch"),
            1 << 30, number(spec, "delete_horizon_ms"));
        for (Map<String, Object> record : maps(spec, "records")) {
            builder.appendWithOffset(number(record, "offset"), number(record, "timestamp"),
                bytes(record, "key"), bytes(record, "value"), headers(record));
        }
        if (spec.get("last_offset") != null) {
            builder.overrideLastOffset(number(spec, "last_offset"));
        }
        return builder.build().buffer();
    }

    static Compression compression(String name, Integer level) {
        if (level == null) {
            return Compression.of(name).build();
        }
        switch (name) {
            case "gzip":
                return Compression.gzip().level(level).build();
            case "lz4":
                return Compression.lz4().level(level).build();
            default:
                return Compression.zstd().level(level).build();
        }
    }

    private static ByteBuffer compress(Map<String, Object> question) throws Exception {
        ByteBufferOutputStream compressed = new ByteBufferOutputStream(1 << 16);
        Compression codec = compression((String) question.get("codec"), (Integer) question.get("level"));
        try (OutputStream out = codec.wrapForOutput(compressed, (byte) number(question, "magic"))) {
            out.write(array(question, "bytes"));
        }
        return compressed.buffer().flip();
    }

    private static byte[] decompress(Map<String, Object> question) throws Exception {
        Compression codec = compression((String) question.get("codec"), null);
        byte magic = (byte) number(question, "magic");
        try (InputStream in = codec.wrapForInput(bytes(question, "bytes"), magic, BufferSupplier.NO_CACHING)) {
            return in.readAllBytes();
        }
    }

    private static ByteBuffer marker(Map<String, Object> spec) {
        EndTransactionMarker marker = new EndTransactionMarker(
            ControlRecordType.valueOf((String) spec.get("type")), (int) number(spec, "coordinator_epoch"));
        return MemoryRecords.withEndTransactionMarker(number(spec, "base_offset"), number(spec, "timestamp"),
            (int) number(spec, "partition_leader_epoch"), number(spec, "producer_id"),
            (short) number(spec, "producer_epoch"), marker).buffer();
    }

    private static LeaderChangeMessage leaderChangeMessage(Map<String, Object> spec) {
        return new LeaderChangeMessage()
            .setVersion((short) number(spec, "version"))
            .setLeaderId((int) number(spec, "leader_id"))
            .setVoters(voters(spec, "voters"))
            .setGrantingVoters(voters(spec, "granting_voters"));
    }

    /** The message alone, in its own version: the log's writer knows only version 0. */
    private static ByteBuffer leaderChangeValue(Map<String, Object> spec) {
        LeaderChangeMessage change = leaderChangeMessage(spec);
        ObjectSerializationCache cache = new ObjectSerializationCache();
        ByteBuffer room = ByteBuffer.allocate(change.size(cache, change.version()));
        change.write(new ByteBufferAccessor(room), cache, change.version());
        return room.flip();
    }

    private static ByteBuffer leaderChange(Map<String, Object> spec) {
        return MemoryRecords.withLeaderChangeMessage(number(spec, "base_offset"), number(spec, "timestamp"),
            (int) number(spec, "partition_leader_epoch"), ByteBuffer.allocate(1 << 12),
            leaderChangeMessage(spec)).buffer();
    }

    private static List<LeaderChangeMessage.Voter> voters(Map<String, Object> spec, String name) {
        List<LeaderChangeMessage.Voter> voters = new ArrayList<>();
        for (Object id : (List<?>) spec.get(name)) {
            voters.add(new LeaderChangeMessage.Voter().setVoterId((Integer) id));
        }
        return voters;
    }

    private static ByteBuffer quorum(Map<String, Object> spec) {
        long offset = number(spec, "base_offset");
        long timestamp = number(spec, "timestamp");
        int epoch = (int) number(spec, "partition_leader_epoch");
        ByteBuffer room = ByteBuffer.allocate(1 << 12);
        switch ((String) spec.get("type")) {
            case "SNAPSHOT_HEADER":
                return MemoryRecords.withSnapshotHeaderRecord(offset, timestamp, epoch, room,
                    new SnapshotHeaderRecord().setVersion((short) 0)
                        .setLastContainedLogTimestamp(number(spec, "last_contained_log_timestamp"))).buffer();
            case "SNAPSHOT_FOOTER":
                return MemoryRecords.withSnapshotFooterRecord(offset, timestamp, epoch, room,
                    new SnapshotFooterRecord().setVersion((short) 0)).buffer();
            case "KRAFT_VERSION":
                return MemoryRecords.withKRaftVersionRecord(offset, timestamp, epoch, room,
                    new KRaftVersionRecord().setVersion((short) 0)
                        .setKRaftVersion((short) number(spec, "kraft_version"))).buffer();
            default:
                return MemoryRecords.withVotersRecord(offset, timestamp, epoch, room, oneVoter(spec)).buffer();
        }
    }

    private static VotersRecord oneVoter(Map<String, Object> spec) {
        ByteBuffer id = bytes(spec, "directory_id");
        VotersRecord.Endpoint endpoint = new VotersRecord.Endpoint()
            .setName((String) spec.get("name")).setHost((String) spec.get("host"))
            .setPort((int) number(spec, "port"));
        VotersRecord.EndpointCollection endpoints = new VotersRecord.EndpointCollection();
        endpoints.add(endpoint);
        return new VotersRecord().setVersion((short) 0).setVoters(List.of(new VotersRecord.Voter()
            .setVoterId((int) number(spec, "voter_id"))
            .setVoterDirectoryId(new Uuid(id.getLong(), id.getLong()))
            .setEndpoints(endpoints)
            .setKRaftVersionFeature(new VotersRecord.KRaftVersionFeature()
                .setMinSupportedVersion((short) 0).setMaxSupportedVersion((short) 1))));
    }

    // -- changing --------------------------------------------------------------------------------------------------

    private static ByteBuffer patch(Map<String, Object> spec) {
        ByteBuffer bytes = bytes(spec, "bytes");
        MutableRecordBatch batch = MemoryRecords.readableRecords(bytes).batches().iterator().next();
        if (spec.get("last_offset") != null) {
            batch.setLastOffset(number(spec, "last_offset"));
        }
        if (spec.get("partition_leader_epoch") != null) {
            batch.setPartitionLeaderEpoch((int) number(spec, "partition_leader_epoch"));
        }
        if (spec.get("max_timestamp") != null) {
            batch.setMaxTimestamp(
                TimestampType.values()[(int) number(spec, "timestamp_type") + 1], number(spec, "max_timestamp"));
        }
        return bytes;
    }

    private static ByteBuffer filter(Map<String, Object> spec) throws Exception {
        Set<Long> kept = ((List<?>) spec.get("kept_offsets")).stream()
            .map(offset -> ((Number) offset).longValue()).collect(Collectors.toSet());
        boolean keepsEmpty = Boolean.TRUE.equals(spec.get("keeps_empty"));
        MemoryRecords.RecordFilter filter =
            new MemoryRecords.RecordFilter(number(spec, "now_ms"), number(spec, "delete_retention_ms")) {
                @Override
                protected BatchRetentionResult checkBatchRetention(RecordBatch batch) {
                    return new BatchRetentionResult(
                        keepsEmpty ? BatchRetention.RETAIN_EMPTY : BatchRetention.DELETE_EMPTY,
                        batch.isControlBatch());
                }

                @Override
                protected boolean shouldRetainRecord(RecordBatch batch, Record record) {
                    return kept.contains(record.offset());
                }
            };
        return Dialect.filter(MemoryRecords.readableRecords(bytes(spec, "bytes")), filter);
    }

    private static List<Map<String, Object>> errors() {
        List<Map<String, Object>> seen = new ArrayList<>();
        for (Errors error : Errors.values()) {
            Map<String, Object> one = new LinkedHashMap<>();
            one.put("name", error.name());
            one.put("code", error.code());
            one.put("retriable", error.exception() instanceof RetriableException);
            seen.add(one);
        }
        return seen;
    }

    // -- JSON ------------------------------------------------------------------------------------------------------

    static Header[] headers(Map<String, Object> record) {
        List<?> pairs = (List<?>) record.getOrDefault("headers", List.of());
        Header[] headers = new Header[pairs.size()];
        for (int at = 0; at < headers.length; at++) {
            List<?> pair = (List<?>) pairs.get(at);
            String value = (String) pair.get(1);
            headers[at] = new RecordHeader(
                (String) pair.get(0), value == null ? null : Base64.getDecoder().decode(value));
        }
        return headers;
    }

    static long number(Map<String, Object> spec, String name) {
        return ((Number) spec.getOrDefault(name, -1)).longValue();
    }

    static byte[] array(Map<String, Object> spec, String name) {
        String text = (String) spec.get(name);
        return text == null ? null : Base64.getDecoder().decode(text);
    }

    static ByteBuffer bytes(Map<String, Object> spec, String name) {
        byte[] array = array(spec, name);
        return array == null ? null : ByteBuffer.wrap(array);
    }

    @SuppressWarnings("unchecked")
    static List<Map<String, Object>> maps(Map<String, Object> spec, String name) {
        return (List<Map<String, Object>>) spec.getOrDefault(name, List.of());
    }

    static String text(byte[] bytes) {
        return bytes == null ? null : Base64.getEncoder().encodeToString(bytes);
    }

    static String text(ByteBuffer bytes) {
        if (bytes == null) {
            return null;
        }
        byte[] copy = new byte[bytes.remaining()];
        bytes.duplicate().get(copy);
        return text(copy);
    }
}

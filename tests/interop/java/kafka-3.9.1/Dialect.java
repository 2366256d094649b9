import java.nio.ByteBuffer;
import java.util.Map;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.compress.Compression;
import org.apache.kafka.common.record.CompressionType;
import org.apache.kafka.common.record.MemoryRecords;
import org.apache.kafka.common.record.RecordBatch;
import org.apache.kafka.common.record.TimestampType;
import org.apache.kafka.common.utils.BufferSupplier;
import org.apache.kafka.common.utils.PrimitiveRef;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.MetadataVersion;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.LogValidator;

/** What only Kafka 3.9.1 has, or has under another signature: conversion between the formats. */
final class Dialect {
    private static final TopicPartition PARTITION = new TopicPartition("asked", 0);

    private Dialect() {
    }

    static ByteBuffer filter(MemoryRecords records, MemoryRecords.RecordFilter filter) {
        ByteBuffer room = ByteBuffer.allocate(1 << 20);
        ByteBuffer filtered =
            records.filterTo(PARTITION, filter, room, Integer.MAX_VALUE, BufferSupplier.NO_CACHING).outputBuffer();
        filtered.flip();
        return filtered;
    }

    /** What a broker does with a produce request on its way into a log of another format. */
    static ByteBuffer validate(Map<String, Object> question) {
        MemoryRecords records = MemoryRecords.readableRecords(RecordsOracle.bytes(question, "bytes"));
        CompressionType source = CompressionType.NONE;
        for (RecordBatch batch : records.batches()) {
            if (batch.isCompressed()) {
                source = batch.compressionType();
            }
        }
        Compression target = RecordsOracle.compression((String) question.get("codec"), null);
        TimestampType type = TimestampType.values()[(int) RecordsOracle.number(question, "timestamp_type") + 1];
        LogValidator validator = new LogValidator(records, PARTITION, Time.SYSTEM, source, target, false,
            (byte) RecordsOracle.number(question, "magic"), type, Long.MAX_VALUE, Long.MAX_VALUE,
            (int) RecordsOracle.number(question, "partition_leader_epoch"), AppendOrigin.CLIENT,
            MetadataVersion.IBP_3_9_IV0);
        return validator.validateMessagesAndAssignOffsets(
            PrimitiveRef.ofLong(RecordsOracle.number(question, "first_offset")), new Uncounted(),
            BufferSupplier.NO_CACHING).validatedRecords.buffer();
    }

    private static final class Uncounted implements LogValidator.MetricsRecorder {
        @Override
        public void recordInvalidMagic() {
        }

        @Override
        public void recordInvalidOffset() {
        }

        @Override
        public void recordInvalidSequence() {
        }

        @Override
        public void recordInvalidChecksums() {
        }

        @Override
        public void recordNoKeyCompactedTopic() {
        }
    }
}

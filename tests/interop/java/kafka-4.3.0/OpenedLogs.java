import java.io.File;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.server.storage.log.FetchIsolation;
import org.apache.kafka.server.util.KafkaScheduler;
import org.apache.kafka.storage.internals.checkpoint.OffsetCheckpointFile;
import org.apache.kafka.storage.internals.log.FetchDataInfo;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Opens partitions with Kafka's own classes, as its LogManager does after a start, reads them as a consumer does, and
 * closes them. Bytes of records travel as Latin-1.
 */
@SuppressWarnings("unchecked")
public final class OpenedLogs {
    private OpenedLogs() {
    }

    public static void main(String[] none) throws Exception {
        Questions.answer(OpenedLogs::look);
    }

    private static void look(Map<String, Object> question, Map<String, Object> answer) throws Exception {
        File directory = new File((String) question.get("directory"));
        long recoveryPoint = checkpointed(directory, "recovery-point-offset-checkpoint", answer);
        long logStart = checkpointed(directory, "log-start-offset-checkpoint", answer);
        checkpointed(directory, "replication-offset-checkpoint", answer);
        checkpointed(directory, "cleaner-offset-checkpoint", answer);
        Properties config = new Properties();
        config.putAll((Map<String, String>) question.get("config"));
        long nowMs = ((Number) question.get("now_ms")).longValue();
        boolean isClean = new File(directory.getParentFile(), ".kafka_cleanshutdown").exists();
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        try (UnifiedLog log = UnifiedLog.create(directory, new LogConfig(config), logStart, recoveryPoint, scheduler,
                new BrokerTopicStats(), new StandingClock(() -> nowMs), 900_000,
                new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10), isClean,
                Optional.empty())) {
            log.updateHighWatermark(log.logEndOffset());
            answer.put("log_start", log.logStartOffset());
            answer.put("log_end", log.logEndOffset());
            answer.put("last_stable", log.lastStableOffset());
            answer.put("uncommitted", read(log, FetchIsolation.LOG_END, answer));
            answer.put("committed", read(log, FetchIsolation.TXN_COMMITTED, answer));
            answer.put("aborted", log.collectAbortedTransactions(log.logStartOffset(), log.logEndOffset()).stream()
                .map(each -> List.of(
                    each.producerId(), each.firstOffset(), each.lastOffset(), each.lastStableOffset()))
                .toList());
            answer.put("times", times(log, (List<Number>) question.get("times"), answer));
        } catch (Throwable thrown) {
            answer.put("refused", words(thrown));
        } finally {
            scheduler.shutdown();
        }
    }

    /** The entry of a partition in a checkpoint; LogManager takes an unreadable file for an empty one. */
    private static long checkpointed(File directory, String name, Map<String, Object> answer) {
        try {
            OffsetCheckpointFile file =
                new OffsetCheckpointFile(new File(directory.getParentFile(), name), new LogDirFailureChannel(10));
            return file.read().getOrDefault(UnifiedLog.parseTopicPartitionName(directory), 0L);
        } catch (Throwable thrown) {
            answer.put(name, words(thrown));
            return 0;
        }
    }

    private static List<List<Object>> read(UnifiedLog log, FetchIsolation isolation, Map<String, Object> answer) {
        List<List<Object>> found = new ArrayList<>();
        long offset = log.logStartOffset();
        try {
            while (true) {
                FetchDataInfo info = log.read(offset, 1 << 20, isolation, true);
                List<FetchResponseData.AbortedTransaction> aborted =
                    new ArrayList<>(info.abortedTransactions.orElse(List.of()));
                Set<Long> aborting = new HashSet<>();
                long next = offset;
                for (RecordBatch batch : info.records.batches()) {
                    batch.ensureValid();
                    next = batch.nextOffset();
                    take(batch, offset, aborted, aborting, found, isolation);
                }
                if (next == offset) {
                    return found;
                }
                offset = next;
            }
        } catch (Throwable thrown) {
            answer.put("stopped_" + isolation.name().toLowerCase(), offset + ": " + words(thrown));
            return found;
        }
    }

    private static void take(RecordBatch batch, long offset, List<FetchResponseData.AbortedTransaction> aborted,
            Set<Long> aborting, List<List<Object>> found, FetchIsolation isolation) {
        if (isolation == FetchIsolation.TXN_COMMITTED && batch.hasProducerId()) {
            for (FetchResponseData.AbortedTransaction each : List.copyOf(aborted)) {
                if (each.firstOffset() <= batch.lastOffset()) {
                    aborting.add(each.producerId());
                    aborted.remove(each);
                }
            }
            if (batch.isControlBatch() && isAbort(batch)) {
                aborting.remove(batch.producerId());
            } else if (batch.isTransactional() && aborting.contains(batch.producerId())) {
                return;
            }
        }
        if (batch.isControlBatch()) {
            return;
        }
        for (Record record : batch) {
            if (record.offset() >= offset) {
                found.add(Arrays.asList(record.offset(), record.timestamp(), text(record.key()), text(record.value()),
                    headers(record)));
            }
        }
    }

    private static boolean isAbort(RecordBatch batch) {
        for (Record record : batch) {
            return ControlRecordType.parse(record.key()) == ControlRecordType.ABORT;
        }
        return false;
    }

    private static List<List<String>> headers(Record record) {
        List<List<String>> found = new ArrayList<>();
        for (Header header : record.headers()) {
            byte[] value = header.value();
            found.add(Arrays.asList(header.key(), value == null ? null : text(ByteBuffer.wrap(value))));
        }
        return found;
    }

    /** The timestamp and the offset that a lookup finds for each time; null where it finds none. */
    private static List<List<Long>> times(UnifiedLog log, List<Number> asked, Map<String, Object> answer) {
        List<List<Long>> found = new ArrayList<>();
        try {
            for (Number time : asked) {
                found.add(log.fetchOffsetByTimestamp(time.longValue(), Optional.empty())
                    .timestampAndOffsetOpt().map(each -> List.of(each.timestamp, each.offset)).orElse(null));
            }
        } catch (Throwable thrown) {
            answer.put("stopped_times", words(thrown));
        }
        return found;
    }

    private static String text(ByteBuffer data) {
        return data == null ? null : StandardCharsets.ISO_8859_1.decode(data).toString();
    }

    private static String words(Throwable thrown) {
        String said = thrown.getClass().getSimpleName();
        return thrown.getCause() == null ? said : said + " of " + thrown.getCause().getClass().getSimpleName();
    }
}

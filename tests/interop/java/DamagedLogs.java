import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.File;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;
import org.apache.kafka.common.message.FetchResponseData;
import org.apache.kafka.common.record.internal.ControlRecordType;
import org.apache.kafka.common.record.internal.Record;
import org.apache.kafka.common.record.internal.RecordBatch;
import org.apache.kafka.common.utils.Time;
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
 * Opens damaged partitions with Kafka's own classes, as its LogManager does after a start, and reads them as a consumer
 * does: one JSON object a line in, one out.
 */
@SuppressWarnings("unchecked")
public final class DamagedLogs {
    private static final ObjectMapper JSON = new ObjectMapper();

    private DamagedLogs() {
    }

    public static void main(String[] none) throws Exception {
        PrintStream answers = System.out;
        System.setOut(System.err);
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            Map<String, Object> answer = new LinkedHashMap<>();
            look(JSON.readValue(line, Map.class), answer);
            answers.write((JSON.writeValueAsString(answer) + "\n").getBytes(StandardCharsets.UTF_8));
            answers.flush();
        }
    }

    private static void look(Map<String, Object> question, Map<String, Object> answer) throws Exception {
        File directory = new File((String) question.get("directory"));
        long recoveryPoint = checkpointed(directory, "recovery-point-offset-checkpoint", answer);
        long logStart = checkpointed(directory, "log-start-offset-checkpoint", answer);
        checkpointed(directory, "replication-offset-checkpoint", answer);
        checkpointed(directory, "cleaner-offset-checkpoint", answer);
        Properties config = new Properties();
        config.putAll((Map<String, String>) question.get("config"));
        boolean isClean = new File(directory.getParentFile(), ".kafka_cleanshutdown").exists();
        KafkaScheduler scheduler = new KafkaScheduler(1);
        scheduler.startup();
        try (UnifiedLog log = UnifiedLog.create(directory, new LogConfig(config), logStart, recoveryPoint, scheduler,
                new BrokerTopicStats(), Time.SYSTEM, 900_000, new ProducerStateManagerConfig(86_400_000, false),
                600_000, new LogDirFailureChannel(10), isClean, Optional.empty())) {
            log.updateHighWatermark(log.logEndOffset());
            answer.put("log_start", log.logStartOffset());
            answer.put("log_end", log.logEndOffset());
            answer.put("last_stable", log.lastStableOffset());
            answer.put("uncommitted", read(log, FetchIsolation.LOG_END, answer));
            answer.put("committed", read(log, FetchIsolation.TXN_COMMITTED, answer));
            answer.put("times", times(log, (List<Number>) question.get("times"), answer));
        } catch (Throwable thrown) {
            answer.put("refused", words(thrown, directory));
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
            answer.put(name, words(thrown, directory));
            return 0;
        }
    }

    private static List<List<Object>> read(UnifiedLog log, FetchIsolation isolation, Map<String, Object> answer) {
        List<List<Object>> found = new ArrayList<>();
        Set<Long> aborting = new HashSet<>();
        long offset = log.logStartOffset();
        try {
            while (true) {
                FetchDataInfo info = log.read(offset, 1 << 20, isolation, true);
                List<FetchResponseData.AbortedTransaction> aborted =
                    new ArrayList<>(info.abortedTransactions.orElse(List.of()));
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
            answer.put("stopped_" + isolation.name().toLowerCase(), offset + ": " + words(thrown, null));
            return found;
        }
    }

    private static void take(RecordBatch batch, long offset, List<FetchResponseData.AbortedTransaction> aborted,
            Set<Long> aborting, List<List<Object>> found, FetchIsolation isolation) {
        if (isolation == FetchIsolation.TXN_COMMITTED && batch.hasProducerId()) {
            aborted.removeIf(each -> each.firstOffset() <= batch.lastOffset() && aborting.add(each.producerId()));
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
                found.add(List.of(record.offset(), text(record.key()), text(record.value())));
            }
        }
    }

    private static boolean isAbort(RecordBatch batch) {
        for (Record record : batch) {
            return ControlRecordType.parse(record.key()) == ControlRecordType.ABORT;
        }
        return false;
    }

    private static List<Long> times(UnifiedLog log, List<Number> asked, Map<String, Object> answer) {
        List<Long> found = new ArrayList<>();
        try {
            for (Number time : asked) {
                found.add(log.fetchOffsetByTimestamp(time.longValue(), Optional.empty())
                    .timestampAndOffsetOpt().map(each -> each.offset).orElse(-1L));
            }
        } catch (Throwable thrown) {
            answer.put("stopped_times", words(thrown, null));
        }
        return found;
    }

    private static String text(ByteBuffer data) {
        return data == null ? "" : StandardCharsets.ISO_8859_1.decode(data).toString();
    }

    private static String words(Throwable thrown, File directory) {
        String said = thrown.getClass().getSimpleName();
        return thrown.getCause() == null ? said : said + " of " + thrown.getCause().getClass().getSimpleName();
    }
}

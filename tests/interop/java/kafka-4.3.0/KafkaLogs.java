import java.io.File;
import java.lang.reflect.Method;
import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.Base64;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Delayed;
import java.util.concurrent.FutureTask;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.protocol.Errors;
import org.apache.kafka.common.record.internal.MemoryRecords;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.server.common.RequestLocal;
import org.apache.kafka.server.util.Scheduler;
import org.apache.kafka.storage.internals.log.AppendOrigin;
import org.apache.kafka.storage.internals.log.Cleaner;
import org.apache.kafka.storage.internals.log.CleanerStats;
import org.apache.kafka.storage.internals.log.LogAppendInfo;
import org.apache.kafka.storage.internals.log.LogCleanerManager;
import org.apache.kafka.storage.internals.log.LogConfig;
import org.apache.kafka.storage.internals.log.LogDirFailureChannel;
import org.apache.kafka.storage.internals.log.LogSegment;
import org.apache.kafka.storage.internals.log.LogStartOffsetIncrementReason;
import org.apache.kafka.storage.internals.log.LogToClean;
import org.apache.kafka.storage.internals.log.ProducerStateManagerConfig;
import org.apache.kafka.storage.internals.log.RecordValidationException;
import org.apache.kafka.storage.internals.log.SkimpyOffsetMap;
import org.apache.kafka.storage.internals.log.UnifiedLog;
import org.apache.kafka.storage.internals.log.VerificationGuard;
import org.apache.kafka.storage.internals.utils.Throttler;
import org.apache.kafka.storage.log.metrics.BrokerTopicStats;

/**
 * Drives Kafka's own logs: one JSON object a line in, one out. The clock stands still but for "clock". What Kafka
 * hands to its scheduler is done after each call when it is to be done at once, and never when it is for later: files
 * that were deleted keep their names.
 */
public final class KafkaLogs {
    private static final BrokerTopicStats STATS = new BrokerTopicStats();
    private static final Map<String, UnifiedLog> LOGS = new HashMap<>();
    private static final Deque<Runnable> SOON = new ArrayDeque<>();
    private static final Time CLOCK = new StandingClock(() -> KafkaLogs.nowMs);
    private static long nowMs = 0;

    private KafkaLogs() {
    }

    public static void main(String[] none) throws Exception {
        Questions.answer((question, answer) -> {
            answer.put("code", 0);
            try {
                answer(question, answer);
            } catch (Throwable thrown) {
                Throwable error = thrown instanceof RecordValidationException invalid
                    ? invalid.invalidException() : thrown;
                answer.put("code", Errors.forException(error).code());
                answer.put("words", error.toString());
                error.printStackTrace();
            }
        });
    }

    private static void answer(Map<String, Object> question, Map<String, Object> answer) throws Exception {
        String directory = (String) question.get("directory");
        nowMs = number(question, "now_ms");
        if (question.get("ask").equals("open")) {
            LOGS.put(directory, open(new File(directory), question));
        }
        UnifiedLog log = LOGS.get(directory);
        try {
            act(log, question, answer);
        } finally {
            while (!SOON.isEmpty()) {
                SOON.remove().run();
            }
            answer.put("log_end", log.logEndOffset());
            answer.put("log_start", log.logStartOffset());
            answer.put("high_watermark", log.highWatermark());
            answer.put("last_stable", log.lastStableOffset());
        }
    }

    private static UnifiedLog open(File directory, Map<String, Object> question) throws Exception {
        Map<?, ?> config = (Map<?, ?>) question.get("config");
        return UnifiedLog.create(directory, new LogConfig(config), number(question, "log_start"),
            number(question, "recovery_point"), new Soon(), STATS, CLOCK, 900_000,
            new ProducerStateManagerConfig(86_400_000, false), 600_000, new LogDirFailureChannel(10),
            (Boolean) question.get("is_clean"), Optional.empty());
    }

    private static void act(UnifiedLog log, Map<String, Object> question, Map<String, Object> answer)
            throws Exception {
        switch ((String) question.get("ask")) {
            case "open":
                log.updateHighWatermark(number(question, "high_watermark"));
                break;
            case "lead":
                AppendOrigin origin = AppendOrigin.valueOf((String) question.get("origin"));
                place(log.appendAsLeader(records(question), epoch(question), origin, RequestLocal.noCaching(),
                    VerificationGuard.SENTINEL, (short) number(question, "transactions")), answer);
                break;
            case "follow":
                place(log.appendAsFollower(records(question), epoch(question)), answer);
                break;
            case "roll":
                log.roll();
                break;
            case "see":
                log.updateHighWatermark(number(question, "offset"));
                break;
            case "delete_records":
                log.maybeIncrementLogStartOffset(
                    number(question, "offset"), LogStartOffsetIncrementReason.ClientRecordDeletion);
                break;
            case "delete_old":
                log.deleteOldSegments();
                break;
            case "truncate":
                log.truncateTo(number(question, "offset"));
                break;
            case "truncate_fully":
                log.truncateFullyAndStartAt(number(question, "offset"), Optional.empty());
                break;
            case "flush":
                log.flush(false);
                break;
            case "choose":
                choose(log, question, answer);
                break;
            case "clean":
                clean(log, question, answer);
                break;
            case "close":
                log.flush(true);
                log.close();
                break;
            case "abandon":
                log.closeHandlers();
                break;
            default:
                throw new IllegalArgumentException("nothing answers " + question.get("ask"));
        }
    }

    private static void place(LogAppendInfo info, Map<String, Object> answer) {
        answer.put("first_offset", info.firstOffset());
        answer.put("last_offset", info.lastOffset());
    }

    /** One pass of Kafka's cleaner, if it would choose the log for what there is to clean. */
    private static void clean(UnifiedLog log, Map<String, Object> question, Map<String, Object> answer)
            throws Exception {
        LogToClean chosen = chosen(log, question);
        tell(chosen, answer);
        answer.put("end", chosen.firstDirtyOffset());
        if (chosen.cleanableBytes() == 0) {
            return;
        }
        Map.Entry<Long, CleanerStats> done = cleaner(question).doClean(chosen, nowMs);
        answer.put("end", done.getKey());
        answer.put("records_read", done.getValue().messagesRead());
        answer.put("records_kept", done.getValue().messagesWritten());
        answer.put("unkeyed", done.getValue().invalidMessagesRead());
        answer.put("bytes_read", done.getValue().bytesRead());
        answer.put("bytes_kept", done.getValue().bytesWritten());
        answer.put("seconds", done.getValue().elapsedSecs());
    }

    /** What a pass would be about, and in which groups of segments. */
    private static void choose(UnifiedLog log, Map<String, Object> question, Map<String, Object> answer)
            throws Exception {
        LogToClean chosen = chosen(log, question);
        tell(chosen, answer);
        Method delay = LogCleanerManager.class.getDeclaredMethod(
            "maxCompactionDelay", UnifiedLog.class, long.class, long.class);
        delay.setAccessible(true);
        answer.put("overdue_ms", delay.invoke(null, log, chosen.firstDirtyOffset(), nowMs));
        List<List<LogSegment>> groups = cleaner(question).groupSegmentsBySize(
            List.copyOf(log.logSegments(0, chosen.firstUncleanableOffset())),
            (int) number(question, "segment_bytes"), (int) number(question, "index_bytes"),
            chosen.firstUncleanableOffset());
        answer.put("groups", groups.stream()
            .map(group -> group.stream().map(LogSegment::baseOffset).toList()).toList());
    }

    private static void tell(LogToClean chosen, Map<String, Object> answer) {
        answer.put("first_dirty", chosen.firstDirtyOffset());
        answer.put("first_uncleanable", chosen.firstUncleanableOffset());
        answer.put("clean_bytes", chosen.cleanBytes());
        answer.put("cleanable_bytes", chosen.cleanableBytes());
    }

    private static Cleaner cleaner(Map<String, Object> question) throws Exception {
        int ioBytes = (int) number(question, "io_bytes");
        Throttler unbounded = new Throttler(Double.MAX_VALUE, 300, "cleaner-io", "bytes", CLOCK);
        return new Cleaner(0, new SkimpyOffsetMap((int) number(question, "map_bytes")), ioBytes, ioBytes,
            0.9, unbounded, CLOCK, partition -> { });
    }

    /** What Kafka decides of bounds, from the checkpoint of the last pass: a negative one if there is none. */
    private static LogToClean chosen(UnifiedLog log, Map<String, Object> question) throws Exception {
        long checkpoint = number(question, "checkpoint");
        Method decide = LogCleanerManager.class.getDeclaredMethod(
            "cleanableOffsets", UnifiedLog.class, Optional.class, long.class);
        decide.setAccessible(true);
        Object offsets = decide.invoke(null, log, checkpoint < 0 ? Optional.empty() : Optional.of(checkpoint), nowMs);
        return new LogToClean(log, of(offsets, "firstDirtyOffset"), of(offsets, "firstUncleanableDirtyOffset"), true);
    }

    private static long of(Object offsets, String name) throws Exception {
        Method field = offsets.getClass().getDeclaredMethod(name);
        field.setAccessible(true);
        return (Long) field.invoke(offsets);
    }

    private static MemoryRecords records(Map<String, Object> question) {
        return MemoryRecords.readableRecords(
            ByteBuffer.wrap(Base64.getDecoder().decode((String) question.get("bytes"))));
    }

    private static int epoch(Map<String, Object> question) {
        return (int) number(question, "epoch");
    }

    private static long number(Map<String, Object> question, String name) {
        return ((Number) question.getOrDefault(name, 0)).longValue();
    }

    /** A scheduler that keeps what is to be done at once, and forgets the rest. */
    private static final class Soon implements Scheduler {
        @Override
        public void startup() {
        }

        @Override
        public void shutdown() {
        }

        @Override
        public ScheduledFuture<?> schedule(String name, Runnable task, long delayMs, long periodMs) {
            if (delayMs <= 0 && periodMs < 0) {
                SOON.add(task);
            }
            return new Never();
        }

        @Override
        public void resizeThreadPool(int size) {
        }
    }

    /** What the scheduler promises of a task: nothing. */
    private static final class Never extends FutureTask<Void> implements ScheduledFuture<Void> {
        Never() {
            super(() -> null);
        }

        @Override
        public long getDelay(TimeUnit unit) {
            return Long.MAX_VALUE;
        }

        @Override
        public int compareTo(Delayed other) {
            return 0;
        }
    }
}

import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer that is never restarted: its thread polls, and keeps all values in their order. */
final class LivingConsumer {
    private static LivingConsumer current;

    private final KafkaConsumer<String, String> consumer;
    private final List<List<Object>> seen = new ArrayList<>();
    private String problem = "";

    private LivingConsumer(KafkaConsumer<String, String> consumer) {
        this.consumer = consumer;
    }

    static synchronized Object start(Map<String, Object> question) {
        Map<String, Object> settings = new HashMap<>();
        settings.put("bootstrap.servers", question.get("bootstrap"));
        settings.put("auto.offset.reset", "earliest");
        settings.put("enable.auto.commit", false);
        settings.put("metadata.recovery.strategy", "none");
        settings.put("fetch.max.wait.ms", 100);
        settings.put("reconnect.backoff.max.ms", 200);
        current = new LivingConsumer(
            new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer()));
        List<TopicPartition> partitions = new ArrayList<>();
        for (int number = 0; number < ((Number) question.get("partitions")).intValue(); number++) {
            partitions.add(new TopicPartition((String) question.get("topic"), number));
        }
        current.consumer.assign(partitions);
        Thread thread = new Thread(current::run, "living consumer");
        thread.setDaemon(true);
        thread.start();
        return 0;
    }

    /** Everything that was read, once the wanted values are among it, or the time is over. */
    @SuppressWarnings("unchecked")
    static Object seen(Map<String, Object> question) throws InterruptedException {
        LivingConsumer living = current;
        Set<String> wanted = new HashSet<>((List<String>) question.get("wanted"));
        long deadline = System.nanoTime() + ((Number) question.get("patience_ms")).longValue() * 1_000_000;
        synchronized (living) {
            while (!living.has(wanted) && living.problem.isEmpty() && System.nanoTime() < deadline) {
                living.wait(Math.max(1, (deadline - System.nanoTime()) / 1_000_000));
            }
            return Map.of("seen", new ArrayList<>(living.seen), "problem", living.problem);
        }
    }

    private boolean has(Set<String> wanted) {
        Set<String> missing = new HashSet<>(wanted);
        for (List<Object> each : seen) {
            missing.remove((String) each.get(1));
        }
        return missing.isEmpty();
    }

    private void run() {
        try {
            while (true) {
                for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(200))) {
                    keep(List.of(record.partition(), record.value()));
                }
            }
        } catch (Exception error) {
            end(error.toString());
        }
    }

    private synchronized void keep(List<Object> record) {
        seen.add(record);
        notifyAll();
    }

    private synchronized void end(String why) {
        problem = why;
        notifyAll();
    }
}

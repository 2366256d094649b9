import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Members of groups and transactional producers, which live from one question to the next. */
final class Members {
    private static final Map<Integer, KafkaConsumer<byte[], byte[]>> MEMBERS = new HashMap<>();
    private static final Map<Integer, KafkaProducer<byte[], byte[]>> PRODUCERS = new HashMap<>();
    private static final Duration POLL = Duration.ofMillis(100);
    private static int made = 0;

    private Members() {
    }

    static boolean answers(String asked) {
        return asked.startsWith("member_") || asked.startsWith("transaction_") || asked.equals("session_open");
    }

    static Object answer(String asked, Map<String, Object> question) throws Exception {
        switch (asked) {
            case "member_join":
                return join(question);
            case "member_poll":
                return poll(member(question));
            case "member_commit":
                member(question).commitSync(Clients.PATIENCE);
                return null;
            case "member_leave":
                member(question).close();
                return MEMBERS.remove(handle(question, "member")) != null;
            case "transaction_open":
                return open(question);
            case "session_open":
                return List.of(open(question), join(question));
            case "transaction_begin":
                producer(question).beginTransaction();
                return null;
            case "transaction_send":
                return send(producer(question), question);
            case "transaction_offsets":
                return sendOffsets(producer(question), member(question));
            case "transaction_end":
                return end(producer(question), Boolean.TRUE.equals(question.get("commit")));
            case "transaction_close":
                producer(question).close(Duration.ZERO);
                return PRODUCERS.remove(handle(question, "producer")) != null;
            default:
                throw new IllegalArgumentException("nothing answers " + asked);
        }
    }

    private static int handle(Map<String, Object> question, String name) {
        return ((Number) question.get(name)).intValue();
    }

    private static KafkaConsumer<byte[], byte[]> member(Map<String, Object> question) {
        return MEMBERS.get(handle(question, "member"));
    }

    private static KafkaProducer<byte[], byte[]> producer(Map<String, Object> question) {
        return PRODUCERS.get(handle(question, "producer"));
    }

    private static int join(Map<String, Object> question) {
        Map<String, Object> settings = new HashMap<>(Map.of(
            "bootstrap.servers", question.get("bootstrap"), "group.id", question.get("group"),
            "auto.offset.reset", "earliest", "enable.auto.commit", false, "fetch.max.wait.ms", 20,
            "isolation.level", "read_committed"));
        if (question.get("protocol").equals("consumer")) {
            settings.put("group.protocol", "consumer");
        } else {
            boolean isCooperative = question.get("assignor").equals("cooperative-sticky");
            settings.put("heartbeat.interval.ms", 100);
            settings.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer."
                + (isCooperative ? "CooperativeStickyAssignor" : "RangeAssignor"));
        }
        if (question.get("instance") != null) {
            settings.put("group.instance.id", question.get("instance"));
        }
        KafkaConsumer<byte[], byte[]> member =
            new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        member.subscribe(List.of((String) question.get("topic")));
        MEMBERS.put(++made, member);
        return made;
    }

    private static Map<String, Object> poll(KafkaConsumer<byte[], byte[]> member) {
        List<String> values = new ArrayList<>();
        for (ConsumerRecord<byte[], byte[]> record : member.poll(POLL)) {
            values.add(RecordsOracle.text(record.value()));
        }
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("assigned", member.assignment().stream().map(TopicPartition::partition).sorted().toList());
        seen.put("values", values);
        return seen;
    }

    private static int open(Map<String, Object> question) {
        KafkaProducer<byte[], byte[]> producer = new KafkaProducer<>(
            Map.of("bootstrap.servers", question.get("bootstrap"), "transactional.id", question.get("id")),
            new ByteArraySerializer(), new ByteArraySerializer());
        producer.initTransactions();
        PRODUCERS.put(++made, producer);
        return made;
    }

    private static Object send(KafkaProducer<byte[], byte[]> producer, Map<String, Object> question) throws Exception {
        List<Future<RecordMetadata>> promises = new ArrayList<>();
        for (Map<String, Object> record : RecordsOracle.maps(question, "records")) {
            promises.add(producer.send(new ProducerRecord<>(
                (String) question.get("topic"), 0, RecordsOracle.number(record, "timestamp"),
                RecordsOracle.array(record, "key"), RecordsOracle.array(record, "value"))));
        }
        producer.flush();
        for (Future<RecordMetadata> promise : promises) {
            promise.get(Clients.PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
        return null;
    }

    private static Object sendOffsets(
            KafkaProducer<byte[], byte[]> producer, KafkaConsumer<byte[], byte[]> member) {
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        for (TopicPartition partition : member.assignment()) {
            offsets.put(partition, new OffsetAndMetadata(member.position(partition)));
        }
        producer.sendOffsetsToTransaction(offsets, member.groupMetadata());
        return null;
    }

    private static Object end(KafkaProducer<byte[], byte[]> producer, boolean commit) {
        if (commit) {
            producer.commitTransaction();
        } else {
            producer.abortTransaction();
        }
        return null;
    }
}

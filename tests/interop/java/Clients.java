import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.AlterConfigsOptions;
import org.apache.kafka.clients.admin.Config;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeConfigsOptions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.RecordsToDelete;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndTimestamp;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.errors.UnknownTopicOrPartitionException;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** What a broker is asked with Kafka's own clients: is it there, make a topic, produce, consume. */
final class Clients {
    static final Duration PATIENCE = Duration.ofSeconds(120);

    private Clients() {
    }

    static Object answer(String asked, Map<String, Object> question) throws Exception {
        switch (asked) {
            case "wait_for_broker":
                return waitForBroker(question);
            case "create_topics":
                return createTopics(question);
            case "describe_configs":
                return describeConfigs(question);
            case "alter_configs":
                return alterConfigs(question);
            case "delete_records":
                return deleteRecords(question);
            case "produce":
                return produce(question);
            case "consume":
                return consume(question);
            case "offset_for_time":
                return offsetForTime(question);
            case "living_start":
                return LivingConsumer.start(question);
            case "living_seen":
                return LivingConsumer.seen(question);
            default:
                return Members.answers(asked)
                    ? Members.answer(asked, question) : Administration.answer(asked, question);
        }
    }

    static Admin admin(Map<String, Object> question) {
        return Admin.create(Map.of(
            "bootstrap.servers", question.get("bootstrap"),
            "reconnect.backoff.ms", 50, "reconnect.backoff.max.ms", 100, "retry.backoff.ms", 50,
            "default.api.timeout.ms", (int) PATIENCE.toMillis(), "request.timeout.ms", 20_000));
    }

    private static int waitForBroker(Map<String, Object> question) throws Exception {
        try (Admin admin = admin(question)) {
            return admin.describeCluster().nodes().get(PATIENCE.toSeconds(), TimeUnit.SECONDS).size();
        }
    }

    @SuppressWarnings("unchecked")
    private static int createTopics(Map<String, Object> question) throws Exception {
        List<NewTopic> topics = new ArrayList<>();
        for (Map<String, Object> topic : RecordsOracle.maps(question, "topics")) {
            int partitions = ((Number) topic.getOrDefault("partitions", 1)).intValue();
            topics.add(new NewTopic((String) topic.get("name"), Optional.of(partitions), Optional.empty())
                .configs((Map<String, String>) topic.getOrDefault("configs", Map.of())));
        }
        try (Admin admin = admin(question)) {
            admin.createTopics(topics).all().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            for (NewTopic topic : topics) {
                waitForTopic(admin, new ConfigResource(ConfigResource.Type.TOPIC, topic.name()));
            }
        }
        return topics.size();
    }

    /** A creation is answered when the controller has decided it, which a broker learns a little later. */
    private static void waitForTopic(Admin admin, ConfigResource topic) throws Exception {
        long deadline = System.nanoTime() + PATIENCE.toNanos();
        while (System.nanoTime() < deadline) {
            try {
                admin.describeConfigs(List.of(topic)).all().get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                return;
            } catch (ExecutionException error) {
                if (!(error.getCause() instanceof UnknownTopicOrPartitionException)) {
                    throw error;
                }
            }
        }
        throw new IllegalStateException(topic + " was made, and is unknown");
    }

    static TopicPartition partition(Map<String, Object> question) {
        Number partition = (Number) question.getOrDefault("partition", 0);
        return new TopicPartition((String) question.get("topic"), partition.intValue());
    }

    static ConfigResource resource(Map<String, Object> question) {
        return new ConfigResource(
            ConfigResource.Type.valueOf((String) question.get("type")), (String) question.get("name"));
    }

    private static List<Map<String, Object>> describeConfigs(Map<String, Object> question) throws Exception {
        ConfigResource resource = resource(question);
        List<Map<String, Object>> entries = new ArrayList<>();
        try (Admin admin = admin(question)) {
            Config config = admin.describeConfigs(
                List.of(resource), new DescribeConfigsOptions().includeSynonyms(true)).all()
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS).get(resource);
            for (ConfigEntry entry : config.entries()) {
                entries.add(described(entry));
            }
        }
        return entries;
    }

    private static Map<String, Object> described(ConfigEntry entry) {
        List<List<String>> synonyms = new ArrayList<>();
        for (ConfigEntry.ConfigSynonym synonym : entry.synonyms()) {
            synonyms.add(Arrays.asList(synonym.name(), synonym.value(), synonym.source().name()));
        }
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("name", entry.name());
        seen.put("value", entry.value());
        seen.put("source", entry.source().name());
        seen.put("type", entry.type().name());
        seen.put("is_sensitive", entry.isSensitive());
        seen.put("is_read_only", entry.isReadOnly());
        seen.put("synonyms", synonyms);
        return seen;
    }

    /** What the broker says of changes that are only to be checked: an error's name and words, or nothing. */
    private static List<String> alterConfigs(Map<String, Object> question) throws Exception {
        List<AlterConfigOp> changes = new ArrayList<>();
        for (Map<String, Object> change : RecordsOracle.maps(question, "changes")) {
            changes.add(new AlterConfigOp(
                new ConfigEntry((String) change.get("name"), (String) change.get("value")),
                AlterConfigOp.OpType.valueOf((String) change.get("operation"))));
        }
        try (Admin admin = admin(question)) {
            admin.incrementalAlterConfigs(
                Map.of(resource(question), changes), new AlterConfigsOptions().validateOnly(true)).all()
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            return List.of();
        } catch (ExecutionException error) {
            return List.of(error.getCause().getClass().getSimpleName(), error.getCause().getMessage());
        }
    }

    private static long deleteRecords(Map<String, Object> question) throws Exception {
        TopicPartition partition = partition(question);
        RecordsToDelete before = RecordsToDelete.beforeOffset(RecordsOracle.number(question, "offset"));
        try (Admin admin = admin(question)) {
            return admin.deleteRecords(Map.of(partition, before)).lowWatermarks().get(partition)
                .get(PATIENCE.toSeconds(), TimeUnit.SECONDS).lowWatermark();
        }
    }

    @SuppressWarnings("unchecked")
    private static List<Long> produce(Map<String, Object> question) throws Exception {
        Map<String, Object> settings = new LinkedHashMap<>(
            (Map<String, Object>) question.getOrDefault("settings", Map.of()));
        settings.put("bootstrap.servers", question.get("bootstrap"));
        List<Long> offsets = new ArrayList<>();
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            if (!settings.containsKey("transactional.id")) {
                send(producer, question, offsets);
                return offsets;
            }
            producer.initTransactions();
            for (Map<String, Object> transaction : RecordsOracle.maps(question, "transactions")) {
                transaction.put("topic", question.get("topic"));
                producer.beginTransaction();
                send(producer, transaction, offsets);
                if (Boolean.TRUE.equals(transaction.get("commit"))) {
                    producer.commitTransaction();
                } else {
                    producer.abortTransaction();
                }
            }
        }
        waitForMarkers(settings);
        return offsets;
    }

    /** A commit is answered before its markers are written; the id's next owner has to wait for them. */
    private static void waitForMarkers(Map<String, Object> settings) {
        try (KafkaProducer<byte[], byte[]> next =
                new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            next.initTransactions();
        }
    }

    private static void send(KafkaProducer<byte[], byte[]> producer, Map<String, Object> question, List<Long> offsets)
            throws Exception {
        List<Future<RecordMetadata>> promises = new ArrayList<>();
        for (Map<String, Object> record : RecordsOracle.maps(question, "records")) {
            promises.add(producer.send(new ProducerRecord<>((String) question.get("topic"), partition(question).partition(),
                RecordsOracle.number(record, "timestamp"), RecordsOracle.array(record, "key"),
                RecordsOracle.array(record, "value"), List.of(RecordsOracle.headers(record)))));
        }
        producer.flush();
        for (Future<RecordMetadata> promise : promises) {
            offsets.add(promise.get(PATIENCE.toSeconds(), TimeUnit.SECONDS).offset());
        }
    }

    private static List<Map<String, Object>> consume(Map<String, Object> question) {
        Map<String, Object> settings = Map.of(
            "bootstrap.servers", question.get("bootstrap"), "enable.auto.commit", false, "check.crcs", true,
            "fetch.max.wait.ms", 20,
            "isolation.level", question.getOrDefault("isolation", "read_uncommitted"));
        TopicPartition partition = partition(question);
        List<Map<String, Object>> seen = new ArrayList<>();
        try (KafkaConsumer<byte[], byte[]> consumer =
                new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.assign(List.of(partition));
            if (question.containsKey("start")) {
                consumer.seek(partition, RecordsOracle.number(question, "start"));
            } else {
                consumer.seekToBeginning(List.of(partition));
            }
            long end = consumer.endOffsets(List.of(partition)).get(partition);
            long deadline = System.nanoTime() + PATIENCE.toNanos();
            while (consumer.position(partition) < end) {
                if (System.nanoTime() > deadline) {
                    throw new IllegalStateException("stuck at " + consumer.position(partition) + " of " + end);
                }
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(Duration.ofMillis(200))) {
                    seen.add(consumed(record));
                }
            }
        }
        return seen;
    }

    /** The consumer's own way to ask, which refuses an answer that the admin client lets pass. */
    private static Long offsetForTime(Map<String, Object> question) {
        TopicPartition partition = partition(question);
        try (KafkaConsumer<byte[], byte[]> consumer = new KafkaConsumer<>(
                Map.of("bootstrap.servers", question.get("bootstrap")),
                new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            OffsetAndTimestamp found = consumer.offsetsForTimes(
                Map.of(partition, RecordsOracle.number(question, "timestamp"))).get(partition);
            return found == null ? null : found.offset();
        }
    }

    private static Map<String, Object> consumed(ConsumerRecord<byte[], byte[]> record) {
        List<Object[]> headers = new ArrayList<>();
        for (Header header : record.headers()) {
            headers.add(new Object[] {header.key(), RecordsOracle.text(header.value())});
        }
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("offset", record.offset());
        seen.put("timestamp", record.timestamp());
        seen.put("timestamp_type", record.timestampType().id);
        seen.put("key", RecordsOracle.text(record.key()));
        seen.put("value", RecordsOracle.text(record.value()));
        seen.put("headers", headers);
        return seen;
    }
}

import java.util.List;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.AlterConfigOp;
import org.apache.kafka.clients.admin.ConfigEntry;
import org.apache.kafka.clients.admin.DescribeClusterResult;
import org.apache.kafka.clients.admin.LogDirDescription;
import org.apache.kafka.clients.admin.NewPartitions;
import org.apache.kafka.clients.admin.NewTopic;
import org.apache.kafka.clients.admin.OffsetSpec;
import org.apache.kafka.clients.admin.TopicDescription;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.config.ConfigResource;

/** What a broker is asked to do and to show with Kafka's admin client, one call a question. */
final class Administration {
    private Administration() {
    }

    static Object answer(String asked, Map<String, Object> question) throws Exception {
        try (Admin admin = Clients.admin(question)) {
            switch (asked) {
                case "create_topic":
                    return createTopic(admin, question);
                case "describe_topic":
                    return describeTopic(admin, (String) question.get("topic"));
                case "delete_topic":
                    return done(admin.deleteTopics(List.of((String) question.get("topic"))).all());
                case "grow_topic":
                    return done(admin.createPartitions(Map.of(
                        (String) question.get("topic"), NewPartitions.increaseTo(partitions(question)))).all());
                case "set_config":
                    return setConfig(admin, question);
                case "offset":
                    return offset(admin, question);
                case "describe_cluster":
                    return describeCluster(admin);
                case "log_dirs":
                    return logDirs(admin);
                default:
                    return Groups.answer(admin, asked, question);
            }
        }
    }

    private static <T> T get(KafkaFuture<T> promise) throws Exception {
        return promise.get(Clients.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private static Object done(KafkaFuture<Void> promise) throws Exception {
        get(promise);
        return null;
    }

    private static int partitions(Map<String, Object> question) {
        return (int) RecordsOracle.number(question, "partitions");
    }

    @SuppressWarnings("unchecked")
    private static Object createTopic(Admin admin, Map<String, Object> question) throws Exception {
        NewTopic topic = new NewTopic(
            (String) question.get("topic"), Optional.of(partitions(question)), Optional.empty());
        topic.configs((Map<String, String>) question.get("configs"));
        return done(admin.createTopics(List.of(topic)).all());
    }

    private static Map<String, Object> describeTopic(Admin admin, String name) throws Exception {
        TopicDescription topic = get(admin.describeTopics(List.of(name)).allTopicNames()).get(name);
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("id", topic.topicId().toString());
        seen.put("leaders", topic.partitions().stream().map(partition -> partition.leader().id()).toList());
        return seen;
    }

    private static Object setConfig(Admin admin, Map<String, Object> question) throws Exception {
        ConfigResource topic = new ConfigResource(ConfigResource.Type.TOPIC, (String) question.get("topic"));
        ConfigEntry entry = new ConfigEntry((String) question.get("name"), (String) question.get("value"));
        return done(admin.incrementalAlterConfigs(
            Map.of(topic, List.of(new AlterConfigOp(entry, AlterConfigOp.OpType.SET)))).all());
    }

    private static long offset(Admin admin, Map<String, Object> question) throws Exception {
        TopicPartition partition = Clients.partition(question);
        OffsetSpec spec = spec(RecordsOracle.number(question, "timestamp"));
        return get(admin.listOffsets(Map.of(partition, spec)).all()).get(partition).offset();
    }

    private static OffsetSpec spec(long timestamp) {
        if (timestamp >= 0) {
            return OffsetSpec.forTimestamp(timestamp);
        }
        switch ((int) timestamp) {
            case -1:
                return OffsetSpec.latest();
            case -2:
                return OffsetSpec.earliest();
            case -3:
                return OffsetSpec.maxTimestamp();
            default:
                throw new IllegalArgumentException("no offset is asked for by " + timestamp);
        }
    }

    private static Map<String, Object> describeCluster(Admin admin) throws Exception {
        DescribeClusterResult cluster = admin.describeCluster();
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("brokers", get(cluster.nodes()).stream().map(Node::id).toList());
        seen.put("controller", get(cluster.controller()).id());
        return seen;
    }

    private static Map<String, Object> logDirs(Admin admin) throws Exception {
        int broker = get(admin.describeCluster().nodes()).iterator().next().id();
        Map<String, Object> sizes = new TreeMap<>();
        for (LogDirDescription folder : get(admin.describeLogDirs(List.of(broker)).allDescriptions()).get(broker).values()) {
            folder.replicaInfos().forEach((partition, replica) -> sizes.put(partition.toString(), replica.size()));
        }
        return sizes;
    }
}

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Base64;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import kafka.api.LeaderAndIsr;
import kafka.cluster.EndPoint;
import kafka.controller.LeaderIsrAndControllerEpoch;
import kafka.controller.ReplicaAssignment;
import kafka.zk.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.feature.Features;
import org.apache.kafka.common.feature.SupportedVersionRange;
import org.apache.kafka.common.network.ListenerName;
import org.apache.kafka.common.security.auth.SecurityProtocol;
import org.apache.kafka.metadata.LeaderRecoveryState;
import org.apache.kafka.server.common.ProducerIdsBlock;
import org.apache.zookeeper.data.Stat;
import scala.Option;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Contents of nodes in ZooKeeper, by Kafka 3.9's own classes.
 *
 * First it prints the content of each kind of node for a fixed value. Then it reads contents, a name
 * and base64 a line, decodes each with Kafka's class, encodes the value again, and prints it.
 */
final class ZooKeeperNodes {
    private static final TopicPartition PARTITION = new TopicPartition("orders.a-b_c", 3);

    private ZooKeeperNodes() {
    }

    public static void main(String[] arguments) throws Exception {
        written().forEach(ZooKeeperNodes::print);
        System.out.println();
        BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
        for (String line = lines.readLine(); line != null; line = lines.readLine()) {
            String[] parts = line.split(" ");
            print(parts[0], rewritten(parts[0], Base64.getDecoder().decode(parts[1])));
        }
    }

    private static void print(String name, byte[] content) {
        System.out.println(name + " " + Base64.getEncoder().encodeToString(content));
    }

    private static Map<String, byte[]> written() {
        Map<String, byte[]> nodes = new LinkedHashMap<>();
        for (int version = 1; version <= 5; version++) {
            nodes.put("broker-" + version, broker(version));
        }
        nodes.put("broker-without-plaintext", brokerWithoutPlaintext());
        nodes.put("controller", ControllerZNode$.MODULE$.encode(4, 1700000000000L, -1));
        nodes.put("controller-epoch", ControllerEpochZNode$.MODULE$.encode(17));
        nodes.put("topic", TopicZNode$.MODULE$.encode(Option.apply(Uuid.fromString("AAAAAAAAAAAAAAAAAAAAAQ")), assignment()));
        nodes.put("topic-without-id", TopicZNode$.MODULE$.encode(Option.<Uuid>empty(), assignment()));
        nodes.put("state", TopicPartitionStateZNode$.MODULE$.encode(state(LeaderRecoveryState.RECOVERED)));
        nodes.put("recovering", TopicPartitionStateZNode$.MODULE$.encode(state(LeaderRecoveryState.RECOVERING)));
        nodes.put("isr-change", IsrChangeNotificationSequenceZNode$.MODULE$.encode(CollectionConverters.asScala(Set.of(PARTITION))));
        nodes.put("log-dir-event", LogDirEventNotificationSequenceZNode$.MODULE$.encode(4));
        nodes.put("election", PreferredReplicaElectionZNode$.MODULE$.encode(CollectionConverters.asScala(Set.of(PARTITION)).toSet()));
        nodes.put("reassignment", ReassignPartitionsZNode$.MODULE$.encode(CollectionConverters.asScala(Map.of(PARTITION, numbers(4, 2)))));
        nodes.put("cluster-id", ClusterIdZNode$.MODULE$.toJson("AAAAAAAAAAAAAAAAAAAAAQ"));
        nodes.put("producer-ids", ProducerIdBlockZNode$.MODULE$.generateProducerIdBlockJson(new ProducerIdsBlock(4, 5000L, 1000)));
        Properties config = new Properties();
        config.setProperty("retention.ms", "1000");
        nodes.put("config", ConfigEntityZNode$.MODULE$.encode(config));
        nodes.put("config-change", ConfigEntityChangeNotificationSequenceZNode$.MODULE$.encode("users/a%20b/clients/<default>"));
        return nodes;
    }

    private static byte[] rewritten(String name, byte[] content) {
        switch (name) {
            case "broker": return BrokerIdZNode$.MODULE$.encode(BrokerIdZNode$.MODULE$.decode(4, content));
            case "controller": return ControllerZNode$.MODULE$.encode(ControllerZNode$.MODULE$.decodeController(content, 0).broker(), 1700000000000L, -1);
            case "controller-epoch": return ControllerEpochZNode$.MODULE$.encode(ControllerEpochZNode$.MODULE$.decode(content));
            case "topic":
                TopicZNode.TopicIdReplicaAssignment topic = TopicZNode$.MODULE$.decode(PARTITION.topic(), content);
                return TopicZNode$.MODULE$.encode(topic.topicId(), topic.assignment());
            case "state": return TopicPartitionStateZNode$.MODULE$.encode(TopicPartitionStateZNode$.MODULE$.decode(content, new Stat()).get());
            case "isr-change": return IsrChangeNotificationSequenceZNode$.MODULE$.encode(IsrChangeNotificationSequenceZNode$.MODULE$.decode(content));
            case "log-dir-event": return LogDirEventNotificationSequenceZNode$.MODULE$.encode((Integer) LogDirEventNotificationSequenceZNode$.MODULE$.decode(content).get());
            case "election": return PreferredReplicaElectionZNode$.MODULE$.encode(PreferredReplicaElectionZNode$.MODULE$.decode(content));
            case "reassignment": return ReassignPartitionsZNode$.MODULE$.encode(ReassignPartitionsZNode$.MODULE$.decode(content).toOption().get());
            case "cluster-id": return ClusterIdZNode$.MODULE$.toJson(ClusterIdZNode$.MODULE$.fromJson(content));
            case "producer-ids": return ProducerIdBlockZNode$.MODULE$.generateProducerIdBlockJson(ProducerIdBlockZNode$.MODULE$.parseProducerIdBlockData(content));
            case "config": return ConfigEntityZNode$.MODULE$.encode(ConfigEntityZNode$.MODULE$.decode(content));
            default: throw new IllegalArgumentException(name);
        }
    }

    private static byte[] broker(int version) {
        Features<SupportedVersionRange> features = Features.supportedFeatures(Map.of("f", new SupportedVersionRange((short) 1, (short) 3)));
        EndPoint plain = endPoint("h4", 9092, "PLAINTEXT", SecurityProtocol.PLAINTEXT);
        List<EndPoint> endPoints = version < 4
            ? List.of(plain)
            : List.of(endPoint("::1", 9093, "INTERNAL", SecurityProtocol.SASL_SSL), plain);
        return BrokerIdZNode$.MODULE$.encode(version, "h4", 9092, CollectionConverters.asScala(endPoints).toSeq(), 9999, Option.apply("r1"), features);
    }

    private static byte[] brokerWithoutPlaintext() {
        List<EndPoint> endPoints = List.of(endPoint("h4", 9093, "SSL", SecurityProtocol.SSL));
        return BrokerIdZNode$.MODULE$.encode(5, null, -1, CollectionConverters.asScala(endPoints).toSeq(), -1, Option.<String>empty(), Features.emptySupportedFeatures());
    }

    private static EndPoint endPoint(String host, int port, String listener, SecurityProtocol protocol) {
        return new EndPoint(host, port, new ListenerName(listener), protocol);
    }

    private static scala.collection.Map<TopicPartition, ReplicaAssignment> assignment() {
        ReplicaAssignment moving = new ReplicaAssignment(numbers(4, 2, 1), numbers(4), numbers(1));
        ReplicaAssignment still = new ReplicaAssignment(numbers(1, 2), numbers(), numbers());
        Map<TopicPartition, ReplicaAssignment> partitions = new LinkedHashMap<>();
        partitions.put(new TopicPartition(PARTITION.topic(), 0), still);
        partitions.put(new TopicPartition(PARTITION.topic(), 1), moving);
        return CollectionConverters.asScala(partitions);
    }

    private static LeaderIsrAndControllerEpoch state(LeaderRecoveryState recovery) {
        return new LeaderIsrAndControllerEpoch(LeaderAndIsr.apply(4, 9, numbers(4, 2).toList(), recovery, 0), 17);
    }

    private static scala.collection.immutable.Seq<Object> numbers(Integer... numbers) {
        List<Object> list = List.of((Object[]) numbers);
        return CollectionConverters.asScala(list).toList();
    }
}

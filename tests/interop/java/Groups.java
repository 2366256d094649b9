import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.admin.ConsumerGroupDescription;
import org.apache.kafka.clients.admin.ConsumerGroupListing;
import org.apache.kafka.clients.admin.ProducerState;
import org.apache.kafka.clients.admin.TransactionDescription;
import org.apache.kafka.clients.admin.TransactionListing;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.KafkaFuture;
import org.apache.kafka.common.TopicPartition;

/** What Kafka's admin client asks of groups and transactions, one call a question. */
final class Groups {
    private Groups() {
    }

    static Object answer(Admin admin, String asked, Map<String, Object> question) throws Exception {
        String group = (String) question.get("group");
        switch (asked) {
            case "list_groups":
                return get(admin.listConsumerGroups().all()).stream().map(ConsumerGroupListing::groupId).toList();
            case "describe_group":
                return describe(get(admin.describeConsumerGroups(List.of(group)).all()).get(group));
            case "delete_group":
                return get(admin.deleteConsumerGroups(List.of(group)).all());
            case "group_offsets":
                return offsets(admin, group);
            case "set_group_offset":
                return get(admin.alterConsumerGroupOffsets(group, Map.of(
                    Clients.partition(question),
                    new OffsetAndMetadata(RecordsOracle.number(question, "offset")))).all());
            case "delete_group_offset":
                return get(admin.deleteConsumerGroupOffsets(group, Set.of(Clients.partition(question))).all());
            case "list_transactions":
                return get(admin.listTransactions().all()).stream().map(TransactionListing::transactionalId).toList();
            case "describe_transaction":
                return transaction(admin, (String) question.get("id"));
            default:
                throw new IllegalArgumentException("nothing answers " + asked);
        }
    }

    private static <T> T get(KafkaFuture<T> promise) throws Exception {
        return promise.get(Clients.PATIENCE.toSeconds(), TimeUnit.SECONDS);
    }

    private static Map<String, Object> describe(ConsumerGroupDescription group) {
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("state", group.state().toString());
        seen.put("members", group.members().size());
        seen.put("instances", group.members().stream().map(each -> each.groupInstanceId().orElse("")).sorted().toList());
        seen.put("type", group.type().toString());
        return seen;
    }

    private static Map<String, Object> offsets(Admin admin, String group) throws Exception {
        Map<String, Object> seen = new TreeMap<>();
        Map<TopicPartition, OffsetAndMetadata> found =
            get(admin.listConsumerGroupOffsets(group).partitionsToOffsetAndMetadata());
        found.forEach((partition, offset) -> seen.put(partition.toString(), offset.offset()));
        return seen;
    }

    private static Map<String, Object> transaction(Admin admin, String id) throws Exception {
        TransactionDescription found = get(admin.describeTransactions(List.of(id)).all()).get(id);
        TopicPartition partition = found.topicPartitions().iterator().next();
        List<ProducerState> producers =
            get(admin.describeProducers(List.of(partition)).all()).get(partition).activeProducers();
        Map<String, Object> seen = new LinkedHashMap<>();
        seen.put("state", found.state().toString());
        seen.put("partitions", found.topicPartitions().stream().map(TopicPartition::toString).toList());
        seen.put("is_producing", producers.stream().anyMatch(each ->
            each.producerId() == found.producerId() && each.currentTransactionStartOffset().isPresent()));
        return seen;
    }
}

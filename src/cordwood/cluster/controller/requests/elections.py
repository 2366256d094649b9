"""Elections on request: by ElectLeaders, through the store, by the rebalance, by a setting.

Kafka: `processReplicaLeaderElection`, `checkAndTriggerAutoLeaderRebalance`.

Results of ElectLeaders, by partition:

    UNKNOWN_TOPIC_OR_PARTITION         no such partition
    INVALID_TOPIC_EXCEPTION            the topic is being deleted
    ELECTION_NOT_NEEDED                preferred: its leader is the preferred one; unclean: it has
                                       a live leader
    PREFERRED_LEADER_NOT_AVAILABLE     the preferred replica is not online, or not in sync
    ELIGIBLE_LEADERS_NOT_AVAILABLE     no replica is online

Only an administrator's request elects an unclean leader without regard to the topic's setting. The
rebalance looks at the partitions whose preferred leader is one broker: if more than 10 % of them
have another leader, those whose preferred replica can lead are moved.
"""

from typing import Final

from cordwood.cluster.controller.context.cluster_context import ClusterContext, PartitionLifecycle
from cordwood.cluster.controller.context.leadership import NO_LEADER
from cordwood.cluster.controller.effects import (
    DropRequestedElections,
    Flow,
    ReadRequestedElections,
    Respond,
    perform,
)
from cordwood.cluster.controller.leader_election import ElectionStrategy, can_lead
from cordwood.cluster.controller.partition_state_machine import (
    change_partition_states,
    elect_missing_leaders,
)
from cordwood.core.errors import (
    ElectionNotNeededError,
    EligibleLeadersNotAvailableError,
    InvalidTopicError,
    KafkaError,
    PreferredLeaderNotAvailableError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

_PREFERRED: Final = ElectionStrategy.PREFERRED
_UNCLEAN_TYPE: Final = 1
_ONLINE: Final = PartitionLifecycle.ONLINE


def elect_leaders(context: ClusterContext, request: ElectLeadersRequest) -> Flow[None]:
    """Elect the preferred leaders of partitions, or unclean ones, and respond."""
    is_unclean = request.election_type == _UNCLEAN_TYPE
    strategy = ElectionStrategy.UNCLEAN if is_unclean else _PREFERRED
    if request.topic_partitions is None:
        names = [*context.assignments]
    else:
        names = [
            TopicPartition(TopicName(topic.topic), PartitionId(each))
            for topic in request.topic_partitions
            for each in topic.partitions
        ]
    errors: dict[TopicPartition, KafkaError | None] = {
        each: _refusal(context, each, strategy) for each in names
    }
    electable = [each for each, error in errors.items() if error is None]
    elected = yield from change_partition_states(context, electable, to=_ONLINE, strategy=strategy)
    for each in electable:
        if each not in elected:
            errors[each] = _not_available(each, strategy)
    if request.topic_partitions is None:
        code = ElectionNotNeededError.code
        names = [each for each in names if (error := errors[each]) is None or error.code != code]
    topics: dict[str, list[PartitionResult]] = {}
    for each in dict.fromkeys(names):
        topics.setdefault(each.topic, []).append(_result(each, errors[each]))
    response = ElectLeadersResponse(
        replica_election_results=[
            ReplicaElectionResult(topic=topic, partition_result=found)
            for topic, found in topics.items()
        ]
    )
    yield from perform(Respond(response))


def elect_requested_leaders(context: ClusterContext) -> Flow[None]:
    """Elect the preferred leaders that are requested through the store, and remove the request."""
    names = yield from perform(ReadRequestedElections())
    if names:
        electable = [each for each in names if _refusal(context, each, _PREFERRED) is None]
        yield from change_partition_states(context, electable, to=_ONLINE, strategy=_PREFERRED)
        yield from perform(DropRequestedElections())


def rebalance_leaders(context: ClusterContext) -> Flow[None]:
    """Elect preferred leaders where too many partitions of a broker have another leader."""
    by_broker: dict[int, list[TopicPartition]] = {}
    for partition, assignment in context.assignments.items():
        if assignment.replicas and not context.is_deletion_queued(partition):
            by_broker.setdefault(assignment.replicas[0], []).append(partition)
    for broker_id, partitions in sorted(by_broker.items()):
        moved = [each for each in partitions if _is_moved(context, each, broker_id)]
        percentage = context.settings.leader_imbalance_percentage
        if len(moved) * 100 > percentage * len(partitions):
            electable = [each for each in moved if can_lead(context, each, broker_id=broker_id)]
            yield from change_partition_states(context, electable, to=_ONLINE, strategy=_PREFERRED)


def unclean_elections_enabled(context: ClusterContext, topic: str | None = None) -> Flow[None]:
    """Elect leaders after unclean elections were allowed, for a topic or by default."""
    yield from elect_missing_leaders(context, topic)


def _is_moved(context: ClusterContext, partition: TopicPartition, broker_id: int) -> bool:
    leadership = context.leaderships.get(partition)
    return leadership is not None and leadership.leader != broker_id


def _refusal(
    context: ClusterContext, partition: TopicPartition, strategy: ElectionStrategy
) -> KafkaError | None:
    replicas = context.assignment(partition).replicas
    if not replicas:
        return UnknownTopicOrPartitionError("The partition does not exist.")
    if context.is_deletion_queued(partition):
        return InvalidTopicError("The topic is being deleted")
    leadership = context.leaderships.get(partition)
    leader = NO_LEADER if leadership is None else leadership.leader
    is_led = leader == replicas[0] if strategy is _PREFERRED else leader in context.live
    return ElectionNotNeededError(f"{partition}: leader {leader} stays") if is_led else None


def _not_available(partition: TopicPartition, strategy: ElectionStrategy) -> KafkaError:
    text = f"Failed to elect leader for partition {partition} ({strategy.value} election)"
    if strategy is _PREFERRED:
        return PreferredLeaderNotAvailableError(text)
    return EligibleLeadersNotAvailableError(text)


def _result(partition: TopicPartition, error: KafkaError | None) -> PartitionResult:
    return PartitionResult(
        partition_id=partition.partition,
        error_code=0 if error is None else error.code,
        error_message=None if error is None else str(error),
    )

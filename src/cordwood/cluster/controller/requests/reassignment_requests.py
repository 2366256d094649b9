"""Requests for reassignments, through the API and through the store.

Kafka: `processApiPartitionReassignment`, `processZkPartitionReassignment`,
`processListPartitionReassignments`.

    INVALID_REPLICA_ASSIGNMENT       no replicas, repeated or negative ids; a new replica is on no
                                     live broker; no in-sync replica would remain, or none that
                                     can lead
    INVALID_REPLICATION_FACTOR       another number of replicas, if the request forbids that
    NO_REASSIGNMENT_IN_PROGRESS      a cancellation without a reassignment
    UNKNOWN_TOPIC_OR_PARTITION       an unknown partition, or its topic is being deleted

The last two checks of the assignment are not in Kafka 3.9: a replacement could delete all in-sync
replicas there. A later request replaces an earlier one. A reassignment through the API takes
precedence over one through the store.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.replica_assignment import ReplicaAssignment
from cordwood.cluster.controller.effects import (
    Flow,
    ReadRequestedReassignments,
    Respond,
    perform,
)
from cordwood.cluster.controller.reassignments import (
    keeps_in_sync_replicas,
    reassign,
    withdraw_requested_reassignments,
)
from cordwood.core.errors import (
    InvalidReplicaAssignmentError,
    InvalidReplicationFactorError,
    KafkaError,
    NoReassignmentInProgressError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from cordwood.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

_UNKNOWN: Final = "The partition does not exist."
#: Ids of brokers in a message.
_MOST_SHOWN: Final = 100


def alter_reassignments(
    context: ClusterContext, request: AlterPartitionReassignmentsRequest
) -> Flow[None]:
    """Begin, replace and cancel reassignments, and respond."""
    targets = {
        TopicPartition(TopicName(topic.name), PartitionId(each.partition_index)): each.replicas
        for topic in request.topics
        for each in topic.partitions
    }
    errors: dict[TopicPartition, KafkaError] = {}
    accepted: dict[TopicPartition, ReplicaAssignment] = {}
    for partition, target in targets.items():
        try:
            assignment = _plan(context, partition, target)
            if not request.allow_replication_factor_change:
                _ensure_same_factor(context.assignment(partition), assignment)
            accepted[partition] = assignment
        except KafkaError as error:
            errors[partition] = error
    if accepted:
        yield from withdraw_requested_reassignments(
            context, is_withdrawn=lambda partition, _: partition in accepted
        )
    errors |= yield from _begin(context, accepted)
    yield from perform(Respond(_alter_response(request, errors)))


def start_requested_reassignments(context: ClusterContext) -> Flow[frozenset[TopicPartition]]:
    """Begin the reassignments that are requested through the store; return the accepted ones."""
    requested = yield from perform(ReadRequestedReassignments())
    errors: dict[TopicPartition, KafkaError] = {}
    accepted: dict[TopicPartition, ReplicaAssignment] = {}
    for partition, target in requested.items():
        try:
            accepted[partition] = _plan(context, partition, target)
        except KafkaError as error:
            errors[partition] = error
    errors |= yield from _begin(context, accepted)
    if errors:
        yield from withdraw_requested_reassignments(
            context, is_withdrawn=lambda partition, _: partition in errors
        )
    return frozenset(accepted.keys() - errors.keys())


def list_reassignments(
    context: ClusterContext, request: ListPartitionReassignmentsRequest
) -> Flow[None]:
    """Respond with the reassignments in progress."""
    if request.topics is None:
        names = sorted(context.reassigning)
    else:
        names = [
            TopicPartition(TopicName(topic.name), PartitionId(each))
            for topic in request.topics
            for each in topic.partition_indexes
        ]
    topics: dict[str, list[OngoingPartitionReassignment]] = {}
    for each in names:
        assignment = context.assignment(each)
        if assignment.is_being_reassigned:
            ongoing = OngoingPartitionReassignment(
                partition_index=each.partition,
                replicas=[*assignment.replicas],
                adding_replicas=[*assignment.adding],
                removing_replicas=[*assignment.removing],
            )
            topics.setdefault(each.topic, []).append(ongoing)
    response = ListPartitionReassignmentsResponse(
        error_code=0,
        error_message=None,
        topics=[
            OngoingTopicReassignment(name=name, partitions=found) for name, found in topics.items()
        ],
    )
    yield from perform(Respond(response))


def _plan(
    context: ClusterContext, partition: TopicPartition, target: Sequence[int] | None
) -> ReplicaAssignment:
    """Return the assignment with a reassignment to the target; None cancels one in progress."""
    current = context.assignment(partition)
    if target is None:
        if not current.is_being_reassigned:
            raise NoReassignmentInProgressError(f"{partition}: no reassignment is in progress")
        planned = current.reassigned_to(current.origin)
    else:
        _validate_target(target)
        planned = current.reassigned_to(target)
        _ensure_live(context, planned)
    if not current.replicas or context.is_deletion_queued(partition):
        raise UnknownTopicOrPartitionError(_UNKNOWN)
    _ensure_in_sync(context, partition, planned)
    return planned


def _validate_target(target: Sequence[int]) -> None:
    if not target:
        raise InvalidReplicaAssignmentError(
            "Empty replica list specified in partition reassignment."
        )
    if len(target) != len(set(target)):
        raise InvalidReplicaAssignmentError(
            f"Duplicate replica ids in partition reassignment replica list: {_ids(target)}"
        )
    if min(target) < 0:
        raise InvalidReplicaAssignmentError(f"Invalid broker id in replica list: {_ids(target)}")


def _ensure_live(context: ClusterContext, planned: ReplicaAssignment) -> None:
    if not context.live.issuperset(planned.adding):
        raise InvalidReplicaAssignmentError(
            f"Replica assignment has brokers that are not alive. Replica list: "
            f"{_ids(planned.adding)}, live broker list: {_ids(sorted(context.live))}"
        )


def _ensure_in_sync(
    context: ClusterContext, partition: TopicPartition, planned: ReplicaAssignment
) -> None:
    if not keeps_in_sync_replicas(context, partition, assignment=planned):
        isr = context.leaderships[partition].isr
        raise InvalidReplicaAssignmentError(
            f"No in-sync replica would remain: {_ids(isr)} are in sync, the partition "
            f"would have {_ids(planned.replicas)}"
        )


def _ensure_same_factor(current: ReplicaAssignment, planned: ReplicaAssignment) -> None:
    before, after = len(current.origin), len(planned.target)
    if before != after:
        raise InvalidReplicationFactorError(
            f"The replication factor is changed from {before} to {after}"
        )


def _begin(
    context: ClusterContext, accepted: Mapping[TopicPartition, ReplicaAssignment]
) -> Flow[dict[TopicPartition, KafkaError]]:
    """Begin reassignments; return an error for each one that is not possible any more."""
    errors: dict[TopicPartition, KafkaError] = {}
    for partition, assignment in accepted.items():
        if context.assignment(partition).replicas:
            begun = yield from reassign(context, partition, assignment=assignment)
            if not begun:
                text = "No in-sync replica would remain, or none that can lead."
                errors[partition] = InvalidReplicaAssignmentError(text)
        if not context.assignment(partition).replicas:
            errors[partition] = UnknownTopicOrPartitionError(_UNKNOWN)
    return errors


def _alter_response(
    request: AlterPartitionReassignmentsRequest, errors: Mapping[TopicPartition, KafkaError]
) -> AlterPartitionReassignmentsResponse:
    def result(topic: str, number: int) -> ReassignablePartitionResponse:
        error = errors.get(TopicPartition(TopicName(topic), PartitionId(number)))
        return ReassignablePartitionResponse(
            partition_index=number,
            error_code=0 if error is None else error.code,
            error_message=None if error is None else str(error),
        )

    return AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_code=0,
        error_message=None,
        responses=[
            ReassignableTopicResponse(
                name=topic.name,
                partitions=[result(topic.name, each.partition_index) for each in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def _ids(replicas: Sequence[int]) -> str:
    """Return the ids for a message; a long message would exceed the longest string."""
    more = [f"and {len(replicas) - _MOST_SHOWN} more"] if len(replicas) > _MOST_SHOWN else []
    return ",".join([*map(str, replicas[:_MOST_SHOWN]), *more])

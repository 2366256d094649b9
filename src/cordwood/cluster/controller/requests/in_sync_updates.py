"""AlterPartition: leaders change their in-sync sets (Kafka: `processAlterPartition`).

The whole request fails with STALE_BROKER_EPOCH if the broker is not registered with its epoch.
Results of a partition, in the order of the checks:

    UNKNOWN_TOPIC_ID              from v2 on; before that, and without a leadership,
                                  UNKNOWN_TOPIC_OR_PARTITION
    NOT_CONTROLLER                a later leader epoch or partition epoch: a later controller exists
    FENCED_LEADER_EPOCH           an earlier leader epoch
    (success)                     the leadership is already as requested
    INVALID_REQUEST               the broker is not the leader *
    INVALID_UPDATE_VERSION        an earlier partition epoch; also if the write meets another one
    INVALID_REQUEST               recovering with several replicas; recovered, then recovering;
                                  a set without the leader, or with a broker without a replica *
    INELIGIBLE_REPLICA            a member that is not live, or has registered again *; before v2
                                  OPERATION_NOT_ATTEMPTED

The checks with a star are those of KRaft controllers; Kafka 3.9 with ZooKeeper does not have them.
Without the first, two brokers could lead in one leader epoch. All partitions of the request get the
metadata update, then the response, and then reassignments may complete.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch, send_metadata
from cordwood.cluster.controller.context.cluster_context import ClusterContext
from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.cluster.controller.context.live_broker import UNKNOWN_BROKER_EPOCH
from cordwood.cluster.controller.effects import Flow, Respond, perform
from cordwood.cluster.controller.leadership_updates import (
    Leaderships,
    refresh_leaderships,
    update_leaderships,
    write_leaderships,
)
from cordwood.cluster.controller.reassignments import complete_reassignments
from cordwood.core.errors import (
    FencedLeaderEpochError,
    IneligibleReplicaError,
    InvalidRequestError,
    InvalidUpdateVersionError,
    NotControllerError,
    OperationNotAttemptedError,
    StaleBrokerEpochError,
    UnknownTopicIdError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.core.uuids import Uuid
from cordwood.protocol.messages.alter_partition import (
    AlteredPartitionState,
    AlteredPartitionTopic,
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionState,
    AlterPartitionTopic,
)

_TOPIC_IDS_SINCE: Final = 2
_BROKER_EPOCHS_SINCE: Final = 3


class _Update(NamedTuple):
    """The requested state of a partition; members of the in-sync set have their broker epochs."""

    partition: TopicPartition
    leader_epoch: int
    partition_epoch: int
    isr: Mapping[int, int]
    is_recovering: bool


def alter_partition(
    context: ClusterContext, request: AlterPartitionRequest, *, version: int
) -> Flow[None]:
    """Store the in-sync sets that a leader requests, and respond."""
    broker = context.brokers.get(request.broker_id)
    if broker is None or broker.epoch != request.broker_epoch:
        yield from perform(Respond(failed_alter_partition(StaleBrokerEpochError.code)))
        return
    errors: dict[TopicPartition, int] = {}
    accepted: dict[TopicPartition, Leadership] = {}
    altered = []
    for topic in request.topics:
        name = _topic_name(context, topic, version)
        for each in topic.partitions if name is not None else ():
            assert name is not None
            update = _update(name, each, version)
            altered.append(update.partition)
            error = _check(context, update, broker_id=request.broker_id, version=version)
            if error:
                errors[update.partition] = error
            elif not _is_present(context.leaderships[update.partition], update):
                accepted[update.partition] = _altered(context, update)
    errors |= yield from _write(context, accepted)
    yield from send_metadata(context, brokers=context.brokers, partitions=altered)
    topics = [_topic_result(context, each, version, errors) for each in request.topics]
    yield from perform(Respond(AlterPartitionResponse(error_code=0, topics=topics)))
    succeeded = [each for each in altered if each not in errors]
    yield from complete_reassignments(context, succeeded)


def in_sync_sets_changed(
    context: ClusterContext, partitions: Sequence[TopicPartition]
) -> Flow[None]:
    """Take over in-sync sets that leaders have stored, as brokers of earlier versions do.

    A member may have gone, or lost its assignment, before the controller read that it is in sync:
    it is removed now.
    """
    known = [each for each in partitions if context.assignment(each).replicas]
    if not known:
        return
    yield from refresh_leaderships(context, known)
    yield from _remove_lost_members(context, known)
    yield from send_metadata(context, brokers=context.brokers, partitions=known)
    yield from complete_reassignments(context, known)


def _remove_lost_members(
    context: ClusterContext, partitions: Sequence[TopicPartition]
) -> Flow[None]:
    """Remove replicas from in-sync sets that are not online, or not assigned any more."""

    def decide(remaining: Sequence[TopicPartition]) -> Flow[Leaderships]:
        yield from ()
        return {
            each: found.next_epoch(leader=found.leader, isr=isr)
            for each in remaining
            if (found := context.leaderships.get(each)) is not None
            and found.leader in (isr := _kept_members(context, each, found))
            and isr != found.isr
        }

    shrunk = yield from update_leaderships(context, partitions, decide=decide)
    batch = BrokerRequestBatch(context)
    for each in shrunk:
        replicas = context.assignment(each).replicas
        batch.add_leader_and_isr(each, brokers=replicas, is_new=False)
    yield from batch.send()


def _kept_members(
    context: ClusterContext, partition: TopicPartition, leadership: Leadership
) -> tuple[int, ...]:
    replicas = context.assignment(partition).replicas
    return tuple(
        each for each in leadership.isr if each in replicas and context.is_online(each, partition)
    )


def failed_alter_partition(error_code: int) -> AlterPartitionResponse:
    """Return the response with an error of the whole request."""
    return AlterPartitionResponse(error_code=error_code, topics=[])


def _topic_name(
    context: ClusterContext, topic: AlterPartitionTopic, version: int
) -> TopicName | None:
    if version < _TOPIC_IDS_SINCE:
        return TopicName(topic.topic_name)
    name = context.topic_names.get(Uuid(topic.topic_id))
    return None if name is None else TopicName(name)


def _update(topic: TopicName, state: AlterPartitionState, version: int) -> _Update:
    if version >= _BROKER_EPOCHS_SINCE:
        isr = {each.broker_id: each.broker_epoch for each in state.new_isr_with_epochs}
    else:
        isr = dict.fromkeys(state.new_isr, UNKNOWN_BROKER_EPOCH)
    return _Update(
        TopicPartition(topic, PartitionId(state.partition_index)),
        state.leader_epoch,
        state.partition_epoch,
        isr,
        bool(state.leader_recovery_state),
    )


def _check(context: ClusterContext, update: _Update, *, broker_id: int, version: int) -> int:
    """Return the error of an update, 0 if it is already present or may be written."""
    current = context.leaderships.get(update.partition)
    if current is None:
        return UnknownTopicOrPartitionError.code
    error = _check_epochs(current, update, broker_id)
    if error or _is_present(current, update):
        return error
    if update.partition_epoch < current.partition_epoch:
        return InvalidUpdateVersionError.code
    replicas = context.assignment(update.partition).replicas
    is_valid = current.leader in update.isr and update.isr.keys() <= set(replicas)
    is_recovery_valid = not update.is_recovering or (current.is_recovering and len(update.isr) == 1)
    if not is_valid or not is_recovery_valid:
        return InvalidRequestError.code
    if not all(_is_eligible(context, each, epoch) for each, epoch in update.isr.items()):
        is_new = version >= _TOPIC_IDS_SINCE
        return IneligibleReplicaError.code if is_new else OperationNotAttemptedError.code
    return 0


def _check_epochs(current: Leadership, update: _Update, broker_id: int) -> int:
    if (
        update.partition_epoch > current.partition_epoch
        or update.leader_epoch > current.leader_epoch
    ):
        return NotControllerError.code
    if update.leader_epoch < current.leader_epoch:
        return FencedLeaderEpochError.code
    return 0 if broker_id == current.leader else InvalidRequestError.code


def _is_present(current: Leadership, update: _Update) -> bool:
    return current.isr == (*update.isr,) and current.is_recovering == update.is_recovering


def _is_eligible(context: ClusterContext, broker_id: int, epoch: int) -> bool:
    return broker_id in context.live and epoch in {
        UNKNOWN_BROKER_EPOCH,
        context.brokers[broker_id].epoch,
    }


def _altered(context: ClusterContext, update: _Update) -> Leadership:
    current = context.leaderships[update.partition]
    return current._replace(isr=(*update.isr,), is_recovering=update.is_recovering)


def _write(
    context: ClusterContext, accepted: Mapping[TopicPartition, Leadership]
) -> Flow[dict[TopicPartition, int]]:
    """Write in-sync sets; return the errors of those that were not written."""
    if not accepted:
        return {}
    writes = yield from write_leaderships(context, accepted)
    if writes.conflicts:
        yield from refresh_leaderships(context, writes.conflicts)
    errors = {each: error.code for each, error in writes.failed.items()}
    return errors | dict.fromkeys(writes.conflicts, InvalidUpdateVersionError.code)


def _topic_result(
    context: ClusterContext,
    topic: AlterPartitionTopic,
    version: int,
    errors: Mapping[TopicPartition, int],
) -> AlteredPartitionTopic:
    name = _topic_name(context, topic, version)
    partitions = []
    for each in topic.partitions:
        number = each.partition_index
        if name is None:
            partitions.append(_failed(number, UnknownTopicIdError.code))
            continue
        partition = TopicPartition(name, PartitionId(number))
        if partition in errors:
            partitions.append(_failed(number, errors[partition]))
        else:
            partitions.append(_state(number, context.leaderships[partition]))
    return AlteredPartitionTopic(
        topic_name=topic.topic_name, topic_id=topic.topic_id, partitions=partitions
    )


def _failed(number: int, error_code: int) -> AlteredPartitionState:
    return AlteredPartitionState(
        partition_index=number,
        error_code=error_code,
        leader_id=0,
        leader_epoch=0,
        isr=[],
        partition_epoch=0,
    )


def _state(number: int, leadership: Leadership) -> AlteredPartitionState:
    return AlteredPartitionState(
        partition_index=number,
        error_code=0,
        leader_id=leadership.leader,
        leader_epoch=leadership.leader_epoch,
        isr=[*leadership.isr],
        leader_recovery_state=int(leadership.is_recovering),
        partition_epoch=leadership.partition_epoch,
    )

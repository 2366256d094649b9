"""ControlledShutdown: a broker moves its leaderships away (Kafka: `doControlledShutdown`).

    leaders     moved to another in-sync replica, which is on no broker that shuts down
    followers   stopped, then removed from the in-sync sets

Partitions with one replica stay. The response lists the partitions that the broker still leads; the
broker repeats the request until there are none, or until it gives up. It remains shutting down, and
leads nothing new, until its registration ends.

    STALE_BROKER_EPOCH      the broker has registered again since
    UNKNOWN_SERVER_ERROR    the broker is not registered; Kafka 3.9 looks for its epoch, and fails
    BROKER_NOT_AVAILABLE    the same, of a request without a broker epoch
"""

from typing import Final

from cordwood.cluster.controller.broker_request_batch import BrokerRequestBatch
from cordwood.cluster.controller.context.cluster_context import (
    ClusterContext,
    PartitionLifecycle,
    ReplicaLifecycle,
)
from cordwood.cluster.controller.context.live_broker import UNKNOWN_BROKER_EPOCH
from cordwood.cluster.controller.effects import Flow, Respond, perform
from cordwood.cluster.controller.leader_election import ElectionStrategy
from cordwood.cluster.controller.partition_state_machine import change_partition_states
from cordwood.cluster.controller.replica_state_machine import change_replica_states
from cordwood.core.errors import (
    BrokerNotAvailableError,
    StaleBrokerEpochError,
    UnknownServerError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.controlled_shutdown import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    RemainingPartition,
)

_ELSEWHERE: Final = ElectionStrategy.CONTROLLED_SHUTDOWN


def shut_down_broker(context: ClusterContext, request: ControlledShutdownRequest) -> Flow[None]:
    """Move the leaderships of a broker away, and respond with those that it still has."""
    broker_id = request.broker_id
    error_code = _check(context, broker_id, request.broker_epoch)
    if error_code:
        yield from perform(Respond(failed_controlled_shutdown(error_code)))
        return
    context.begin_shutdown(broker_id)
    led, followed = _replicated(context, broker_id)
    online = PartitionLifecycle.ONLINE
    yield from change_partition_states(context, led, to=online, strategy=_ELSEWHERE)
    batch = BrokerRequestBatch(context)
    for each in followed:
        batch.add_stop_replica(each, broker_id=broker_id, is_deleted=False)
    # They stop before the in-sync sets shrink, so that their leaders do not add them again.
    yield from batch.send()
    replicas = {broker_id: followed} if followed else {}
    yield from change_replica_states(context, replicas, to=ReplicaLifecycle.OFFLINE)
    remaining, _ = _replicated(context, broker_id)
    response = ControlledShutdownResponse(
        error_code=0,
        remaining_partitions=[
            RemainingPartition(topic_name=each.topic, partition_index=each.partition)
            for each in remaining
        ],
    )
    yield from perform(Respond(response))


def failed_controlled_shutdown(error_code: int) -> ControlledShutdownResponse:
    """Return the response with an error."""
    return ControlledShutdownResponse(error_code=error_code, remaining_partitions=[])


def _check(context: ClusterContext, broker_id: int, epoch: int) -> int:
    broker = context.brokers.get(broker_id)
    if broker is None:
        has_epoch = epoch != UNKNOWN_BROKER_EPOCH
        return UnknownServerError.code if has_epoch else BrokerNotAvailableError.code
    if epoch != UNKNOWN_BROKER_EPOCH and epoch < broker.epoch:
        return StaleBrokerEpochError.code
    return 0


def _replicated(
    context: ClusterContext, broker_id: int
) -> tuple[list[TopicPartition], list[TopicPartition]]:
    """Return the partitions that a broker leads and follows, as far as others have replicas."""
    led = list[TopicPartition]()
    followed = list[TopicPartition]()
    for partition, assignment in context.assignments.items():
        leadership = context.leaderships.get(partition)
        is_moved = broker_id in assignment.replicas and len(assignment.replicas) > 1
        if is_moved and leadership is not None and not context.is_deletion_queued(partition):
            (led if leadership.leader == broker_id else followed).append(partition)
    return led, followed

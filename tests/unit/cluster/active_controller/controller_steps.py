"""Values and steps that the tests of the controller share."""

from cordwood.cluster.controller.context.leadership import Leadership
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    AlterPartitionState,
    AlterPartitionTopic,
)
from tests.unit.cluster.active_controller.controller_world import (
    ControllerWorld,
    Host,
    partition,
)

SESSION_MS = 8_000
T_0 = partition("t", 0)


def led(leader: int, isr: tuple[int, ...], *, epochs: tuple[int, int, int]) -> Leadership:
    """Return a leadership; the epochs are those of leader, partition and controller."""
    return Leadership(leader, epochs[0], isr, partition_epoch=epochs[1], controller_epoch=epochs[2])


def in_sync_request(
    leader: Host, name: TopicPartition, isr: list[int]
) -> tuple[AlterPartitionRequest, type[AlterPartitionResponse]]:
    """Return the request of a leader for an in-sync set, and the class of its response."""
    hosted = leader.model.replicas[name]
    state = AlterPartitionState(
        partition_index=name.partition,
        leader_epoch=hosted.leader_epoch,
        new_isr=isr,
        partition_epoch=hosted.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=leader.broker_id,
        broker_epoch=leader.model.epoch,
        topics=[AlterPartitionTopic(topic_id=hosted.topic_id, partitions=[state])],
    )
    return request, AlterPartitionResponse


async def alter_isr(world: ControllerWorld, leader: Host, isr: list[int]) -> AlterPartitionResponse:
    """Let the leader of the partition t-0 request an in-sync set."""
    request, kind = in_sync_request(leader, T_0, isr)
    return await world.controller.controller.submit(request, kind, version=2)

"""Values and steps that the tests of the controller share."""

from cordwood.cluster.controller.context.leadership import Leadership
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


async def alter_isr(world: ControllerWorld, leader: Host, isr: list[int]) -> AlterPartitionResponse:
    """Let the leader of the partition t-0 request an in-sync set."""
    hosted = leader.model.replicas[T_0]
    state = AlterPartitionState(
        partition_index=0,
        leader_epoch=hosted.leader_epoch,
        new_isr=isr,
        partition_epoch=hosted.partition_epoch,
    )
    request = AlterPartitionRequest(
        broker_id=leader.broker_id,
        broker_epoch=leader.model.epoch,
        topics=[AlterPartitionTopic(topic_id=hosted.topic_id, partitions=[state])],
    )
    controller = world.controller.controller
    return await controller.submit(request, AlterPartitionResponse, version=2)

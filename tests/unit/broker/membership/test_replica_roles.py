"""Tests of roles and logs that the controller assigns to this broker."""

import asyncio
from collections.abc import Collection, Coroutine, Iterable, Sequence

import pytest

from cordwood.broker.membership.controller_fence import ControllerFence
from cordwood.broker.membership.replica_roles import ReplicaRoles
from cordwood.broker.partitions.partition_role import Follower, Offline
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import (
    FencedLeaderEpochError,
    InconsistentTopicIdError,
    InvalidPartitionsError,
    InvalidTopicError,
    KafkaStorageError,
    StaleBrokerEpochError,
    StaleControllerEpochError,
    UnknownTopicOrPartitionError,
)
from cordwood.core.types import LeaderEpoch, TopicPartition
from cordwood.core.uuids import NO_UUID, Uuid
from cordwood.protocol.messages.leader_and_isr import (
    LeaderAndIsrPartitionState,
    LeaderAndIsrRequest,
    LeaderAndIsrTopicState,
)
from cordwood.protocol.messages.stop_replica import (
    StopReplicaPartitionState,
    StopReplicaRequest,
    StopReplicaTopicState,
)
from cordwood.storage.manager import log_creation
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.storage.manager_samples import ORDERS_ID, OTHER_ID, partition


class Followers:
    def __init__(self) -> None:
        self.calls = list[tuple[object, ...]]()
        self.in_sync = list[bool]()

    def follow(
        self,
        partition: TopicPartition,
        topic_id: Uuid,
        *,
        leader: int,
        leader_epoch: int,
        is_in_sync: bool,
    ) -> None:
        assert topic_id == ORDERS_ID
        self.in_sync.append(is_in_sync)
        self.calls.append(("follow", partition.partition, leader, leader_epoch))

    def stop_following(self, partitions: Iterable[TopicPartition]) -> None:
        self.calls.extend(("stop", each.partition) for each in partitions)


class Member:
    """Broker 1 with its roles."""

    def __init__(self) -> None:
        self.harness = BrokerHarness()
        self.followers = Followers()
        self.loaded = list[str]()
        #: The connection of the controller.
        self.connection_id = 1
        self.roles = ReplicaRoles(
            ControllerFence(lambda: 50),
            self.harness.hosting,
            self.followers,
            load_configs=self._load_configs,
        )

    async def _load_configs(self, topics: Collection[str]) -> None:
        self.loaded += topics

    def assign(
        self, *states: LeaderAndIsrPartitionState, topic_id: Uuid = ORDERS_ID, epoch: int = 1
    ) -> list[int]:
        request = assignment(*states, topic_id=topic_id, epoch=epoch)
        response = run(self.roles.assign(request, connection_id=self.connection_id))
        assert response.error_code == 0
        assert [each.topic_id for each in response.topics] == [topic_id]
        return [each.error_code for each in response.topics[0].partition_errors]

    def stop(self, *states: StopReplicaPartitionState) -> list[int]:
        topics = [StopReplicaTopicState(topic_name="orders", partition_states=[*states])]
        request = StopReplicaRequest(
            controller_id=2, controller_epoch=1, broker_epoch=50, topic_states=topics
        )
        response = run(self.roles.stop(request, connection_id=self.connection_id))
        assert response.error_code == 0
        return [each.error_code for each in response.partition_errors]

    def role(self, number: int = 0) -> object:
        return self.harness.broker.partitions.get("orders", number).role


def assignment(
    *states: LeaderAndIsrPartitionState,
    topic_id: Uuid = ORDERS_ID,
    epoch: int = 1,
    broker_epoch: int = 50,
) -> LeaderAndIsrRequest:
    topic = LeaderAndIsrTopicState(
        topic_name="orders", topic_id=topic_id, partition_states=[*states]
    )
    return LeaderAndIsrRequest(
        controller_id=2,
        controller_epoch=epoch,
        broker_epoch=broker_epoch,
        topic_states=[topic],
        live_leaders=[],
    )


def state(
    number: int = 0,
    *,
    leader: int = 1,
    epoch: int = 0,
    replicas: Sequence[int] = (1, 2, 3),
    is_new: bool = True,
) -> LeaderAndIsrPartitionState:
    return LeaderAndIsrPartitionState(
        partition_index=number,
        controller_epoch=1,
        leader=leader,
        leader_epoch=epoch,
        isr=[1, 2],
        partition_epoch=7,
        replicas=[*replicas],
        is_new=is_new,
    )


def stopped(
    number: int = 0, *, epoch: int = 0, is_deleted: bool = False
) -> StopReplicaPartitionState:
    return StopReplicaPartitionState(
        partition_index=number, leader_epoch=epoch, delete_partition=is_deleted
    )


def test_new_replicas_get_logs_and_take_their_roles() -> None:
    member = Member()

    assert member.assign(state(0), state(1, leader=2), state(2, leader=-1)) == [0, 0, 0]

    leader, follower, offline = (member.role(each) for each in range(3))
    assert isinstance(leader, Leader)
    assert leader.isr == (1, 2)
    assert leader.partition_epoch == 7
    assert follower == Follower(2, LeaderEpoch(0))
    assert isinstance(offline, Offline)
    assert member.harness.manager.topic_id(partition(1)) == ORDERS_ID
    assert ("follow", 1, 2, 0) in member.followers.calls
    assert [each for each in member.followers.calls if each[0] == "follow"] == [("follow", 1, 2, 0)]
    assert member.followers.in_sync == [True]
    assert member.loaded == ["orders"]


def test_later_leader_epoch_changes_the_role() -> None:
    member = Member()
    member.assign(state(leader=2, epoch=1))
    member.followers.calls.clear()

    assert member.assign(state(leader=1, epoch=2)) == [0]

    assert isinstance(member.role(), Leader)
    assert member.followers.calls == [("stop", 0)]
    assert member.loaded == ["orders"]


@pytest.mark.parametrize("epoch", (0, 1))
def test_leader_epoch_that_is_not_later_is_refused(epoch: int) -> None:
    member = Member()
    member.assign(state(leader=2, epoch=1))

    assert member.assign(state(leader=1, epoch=epoch)) == [StaleControllerEpochError.code]

    assert member.role() == Follower(2, LeaderEpoch(1))


def test_replica_of_another_topic_of_the_name_is_refused() -> None:
    member = Member()
    log_creation.create(member.harness.manager, partition(), topic_id=OTHER_ID)

    assert member.assign(state()) == [InconsistentTopicIdError.code]

    with pytest.raises(UnknownTopicOrPartitionError):
        member.role()


def test_partition_without_a_replica_here_is_refused() -> None:
    member = Member()

    assert member.assign(state(replicas=(2, 3))) == [UnknownTopicOrPartitionError.code]

    assert not member.harness.manager.logs


@pytest.mark.parametrize("number", (-1, -(1 << 31)))
def test_partition_number_that_no_log_can_have_is_refused_alone(number: int) -> None:
    member = Member()

    assert member.assign(state(number), state(0)) == [InvalidPartitionsError.code, 0]

    assert [*member.harness.manager.logs] == [partition()]


@pytest.mark.parametrize("name", ("../outside", "..", "", "a/b"))
def test_topic_name_that_no_log_can_have_is_refused_alone(name: str) -> None:
    member = Member()
    request = assignment(state())
    request.topic_states += [
        LeaderAndIsrTopicState(topic_name=name, topic_id=OTHER_ID, partition_states=[state()])
    ]

    response = run(member.roles.assign(request, connection_id=1))

    codes = [each.partition_errors[0].error_code for each in response.topics]
    assert codes == [0, InvalidTopicError.code]
    assert [*member.harness.manager.logs] == [partition()]


def test_topic_without_an_id_is_refused() -> None:
    member = Member()

    assert member.assign(state(), topic_id=NO_UUID) == [InconsistentTopicIdError.code]

    assert not member.harness.manager.logs


def test_last_state_of_a_repeated_partition_counts() -> None:
    member = Member()

    assert member.assign(state(leader=2), state(leader=1)) == [0]

    assert isinstance(member.role(), Leader)


def test_log_that_may_be_in_an_offline_directory_is_not_created_again() -> None:
    member = Member()
    manager = member.harness.manager
    manager.fail(manager.directories[1], OSError("gone"))

    assert member.assign(state(is_new=False), state(1)) == [KafkaStorageError.code, 0]

    assert [*manager.logs] == [partition(1)]


def test_replica_in_an_offline_directory_is_refused() -> None:
    member = Member()
    member.assign(state())
    manager = member.harness.manager
    manager.fail(manager.directory_of(manager.logs[partition()]), OSError("gone"))

    assert member.assign(state(epoch=1)) == [KafkaStorageError.code]


def test_request_of_an_earlier_controller_changes_nothing() -> None:
    member = Member()
    member.assign(state(leader=2), epoch=3)

    with pytest.raises(StaleControllerEpochError):
        run(member.roles.assign(assignment(state(epoch=1), epoch=2), connection_id=1))
    with pytest.raises(StaleBrokerEpochError):
        run(
            member.roles.assign(
                assignment(state(epoch=1), epoch=3, broker_epoch=49), connection_id=1
            )
        )

    assert member.role() == Follower(2, LeaderEpoch(0))


def test_stopped_replica_is_not_served_and_keeps_its_log() -> None:
    member = Member()
    member.assign(state(leader=2, epoch=1))

    assert member.stop(stopped(epoch=1)) == [0]

    with pytest.raises(UnknownTopicOrPartitionError):
        member.role()
    assert [*member.harness.manager.logs] == [partition()]
    assert member.followers.calls[-1] == ("stop", 0)


def test_deleted_replica_loses_its_log() -> None:
    member = Member()
    member.assign(state(), state(1))

    assert member.stop(stopped(epoch=-2, is_deleted=True)) == [0]

    assert [*member.harness.manager.logs] == [partition(1)]


def test_replica_that_was_stopped_before_is_deleted() -> None:
    member = Member()
    log_creation.create(member.harness.manager, partition(), topic_id=ORDERS_ID)

    assert member.stop(stopped(epoch=-2, is_deleted=True), stopped(5)) == [0, 0]

    assert not member.harness.manager.logs


def test_replica_with_a_later_leader_epoch_is_not_stopped() -> None:
    member = Member()
    member.assign(state(epoch=4))

    assert member.stop(stopped(epoch=3, is_deleted=True)) == [FencedLeaderEpochError.code]

    assert isinstance(member.role(), Leader)


def test_late_assignment_of_a_deleted_replica_does_not_restore_its_log() -> None:
    member = Member()
    member.assign(state())
    member.connection_id = 2
    member.stop(stopped(epoch=-2, is_deleted=True))

    member.connection_id = 1
    with pytest.raises(StaleControllerEpochError, match="through connection 2"):
        member.assign(state())

    assert not member.harness.manager.logs


def test_late_deletion_does_not_delete_the_replica_of_the_next_topic() -> None:
    member = Member()
    member.assign(state())
    member.connection_id = 2
    member.stop(stopped(epoch=-2, is_deleted=True))
    member.assign(state(), topic_id=OTHER_ID)

    member.connection_id = 1
    with pytest.raises(StaleControllerEpochError, match="through connection 2"):
        member.stop(stopped(epoch=-2, is_deleted=True))

    assert isinstance(member.role(), Leader)
    assert member.harness.manager.topic_id(partition()) == OTHER_ID


def test_stopped_replica_that_cannot_be_deleted_has_an_error() -> None:
    member = Member()
    member.assign(state())
    manager = member.harness.manager
    manager.fail(manager.directory_of(manager.logs[partition()]), OSError("gone"))

    assert member.stop(stopped(is_deleted=True)) == [KafkaStorageError.code]


async def turns_until(work: Coroutine[object, object, object]) -> int:
    """Return the number of turns of the loop in which other tasks can run meanwhile."""
    task, count = asyncio.ensure_future(work), 0
    while not task.done():
        await asyncio.sleep(0)
        count += 1
    await task
    return count


def test_request_of_many_partitions_leaves_the_loop_to_others() -> None:
    member = Member()
    refused = assignment(*(state(each, replicas=(2, 3)) for each in range(1_000)))
    stopping = StopReplicaRequest(
        controller_id=2,
        controller_epoch=1,
        topic_states=[
            StopReplicaTopicState(topic_name="orders", partition_states=[*map(stopped, range(400))])
        ],
    )

    assert run(turns_until(member.roles.assign(refused, connection_id=1))) > 4 * 1_000 // 200
    assert run(turns_until(member.roles.stop(stopping, connection_id=1))) > 400 // 20

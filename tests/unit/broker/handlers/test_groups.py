"""Tests of the handlers of groups, on a broker with its logs."""

import asyncio

import pytest

from cordwood.broker.handlers import groups
from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.group_registry import GroupPage, GroupRegistry
from cordwood.coordination.outcome import Outcome
from cordwood.core.errors import KafkaStorageError
from cordwood.protocol.messages.delete_groups import DeleteGroupsRequest
from cordwood.protocol.messages.describe_groups import DescribeGroupsRequest
from cordwood.protocol.messages.heartbeat import HeartbeatRequest
from cordwood.protocol.messages.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from cordwood.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from cordwood.protocol.messages.list_groups import ListedGroup, ListGroupsRequest
from cordwood.protocol.messages.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from cordwood.testing.inline_worker import InlineWorker
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate
from tests.unit.coordination.runtime.runtime_samples import group_record
from tests.unit.storage.manager_samples import HeldWorker


class MemberOf:
    """A member of the group `g` with the classic protocol."""

    def __init__(self, harness: BrokerHarness) -> None:
        self.harness = harness
        self.id = ""
        self.generation = -1

    async def join(self, version: int = 9) -> JoinGroupResponse:
        """Join; take the member id of the response."""
        request = JoinGroupRequest(
            group_id="g",
            session_timeout_ms=10_000,
            rebalance_timeout_ms=30_000,
            member_id=self.id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        joining = asyncio.ensure_future(
            groups.join_group(self.harness.broker, self.harness.context(version), request)
        )
        await turns(20)
        self.harness.storage.clock.advance(ms=0)  # the first rebalance has no delay
        answer = await joining
        self.id, self.generation = answer.member_id, answer.generation_id
        return answer

    async def sync(self) -> SyncGroupResponse:
        request = SyncGroupRequest(
            group_id="g",
            generation_id=self.generation,
            member_id=self.id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=[SyncGroupRequestAssignment(member_id=self.id, assignment=b"all")],
        )
        return await groups.sync_group(self.harness.broker, self.harness.context(5), request)

    async def enter(self) -> None:
        """Become the only member of a stable group."""
        await self.join()
        await self.join()
        await self.sync()

    async def heartbeat(self) -> int:
        request = HeartbeatRequest(group_id="g", generation_id=self.generation, member_id=self.id)
        answer = await groups.heartbeat(self.harness.broker, self.harness.context(4), request)
        return answer.error_code

    async def leave(self) -> int:
        """Leave; return the error of the member, or that of the whole request."""
        request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id=self.id)])
        answer = await groups.leave_group(self.harness.broker, self.harness.context(5), request)
        return answer.error_code or answer.members[0].error_code


async def state_of(harness: BrokerHarness, group_id: str = "g", version: int = 6) -> str:
    request = DescribeGroupsRequest(groups=[group_id], include_authorized_operations=True)
    answer = await groups.describe_groups(harness.broker, harness.context(version), request)
    return answer.groups[0].group_state


def test_member_joins_syncs_and_leaves() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            await locate(harness)
            member = MemberOf(harness)
            first, second = await member.join(), await member.join()
            assigned = await member.sync()
            beat, left = await member.heartbeat(), await member.leave()
            return (
                first.error_code,
                second.leader == member.id,
                assigned.assignment,
                (beat, left, await state_of(harness)),
            )

    assert run(scene()) == (79, True, b"all", (0, 0, "Empty"))


def test_group_survives_a_restart_of_its_coordinator() -> None:
    async def scene() -> tuple[int, str]:
        async with coordinating() as harness:
            await locate(harness)
            runtime = harness.broker.coordinators.groups.runtime
            member = MemberOf(harness)
            await member.enter()
            partition = harness.broker.coordinators.groups.partition_of("g")
            log = runtime.log(partition)
            assert log is not None
            runtime.resign(partition)
            runtime.elect(log)
            await turns(20)
            return await member.heartbeat(), await state_of(harness)

    assert run(scene()) == (0, "Stable")


def test_session_ends_by_the_clock_of_the_logs() -> None:
    async def scene() -> tuple[str, str]:
        async with coordinating() as harness:
            await locate(harness)
            await MemberOf(harness).enter()
            before = await state_of(harness)
            harness.storage.clock.advance(seconds=11)
            await turns(20)
            return before, await state_of(harness)

    assert run(scene()) == ("Stable", "Empty")


def test_join_that_waits_ends_with_its_connection() -> None:
    async def scene() -> int:
        async with coordinating(group_initial_rebalance_delay_ms="3000") as harness:
            await locate(harness)
            member = MemberOf(harness)
            await member.join()
            waiting = asyncio.ensure_future(member.join())
            await turns(20)
            harness.connection.stopping.fire()
            return (await waiting).error_code

    assert run(scene()) == 15


def test_requests_before_the_topic_exists_find_no_coordinator() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            member = MemberOf(harness)
            joined, synced = await member.join(), await member.sync()
            listed = await groups.list_groups(
                harness.broker, harness.context(5), ListGroupsRequest()
            )
            deleted = await groups.delete_groups(
                harness.broker, harness.context(2), DeleteGroupsRequest(group_names=["g"])
            )
            return (
                (joined.error_code, joined.protocol_name, synced.error_code),
                await member.heartbeat(),
                (listed.error_code, listed.groups),
                deleted.results[0].error_code,
                await state_of(harness),
            )

    assert run(scene()) == ((16, None, 16), 16, (0, []), 16, "")


def test_heartbeat_of_a_group_that_is_loaded_is_accepted() -> None:
    async def scene() -> tuple[int, int]:
        async with coordinating() as harness:
            await harness.broker.topics.create_missing(["__consumer_offsets"])
            member = MemberOf(harness)
            runtime = harness.broker.coordinators.groups.runtime
            await turns(20)
            partition = harness.broker.coordinators.groups.partition_of("g")
            log = runtime.log(partition)
            assert log is not None
            runtime.resign(partition)
            runtime.elect(log)
            return await member.heartbeat(), await member.leave()

    assert run(scene()) == (0, 14)


def test_groups_of_all_partitions_are_listed_and_deleted() -> None:
    async def scene() -> tuple[list[tuple[str, str]], list[int]]:
        async with coordinating() as harness:
            await locate(harness)
            member = MemberOf(harness)
            await member.enter()
            listed = await groups.list_groups(
                harness.broker, harness.context(5), ListGroupsRequest(types_filter=["classic"])
            )
            request = DeleteGroupsRequest(group_names=["g", "none", "g"])
            busy = await groups.delete_groups(harness.broker, harness.context(2), request)
            await member.leave()
            deleted = await groups.delete_groups(harness.broker, harness.context(2), request)
            return [(each.group_id, each.group_state) for each in listed.groups], [
                each.error_code for each in (*busy.results, *deleted.results)
            ]

    assert run(scene()) == ([("g", "Stable")], [68, 69, 0, 69])


def test_lost_log_directory_moves_the_members_away() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            member = MemberOf(harness)
            await member.enter()
            partition = harness.broker.coordinators.groups.partition_of("g")
            harness.broker.partitions.get("__consumer_offsets", partition).go_offline(
                KafkaStorageError("a lost directory")
            )
            return await member.leave()

    assert run(scene()) == 16


@pytest.mark.parametrize(("version", "code"), ((3, 0), (4, 79)))
def test_quirk_07_empty_member_id_is_rejected_from_version_4_on(version: int, code: int) -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await locate(harness)
            return (await MemberOf(harness).join(version)).error_code

    assert run(scene()) == code


@pytest.mark.parametrize(("version", "code"), ((5, 0), (6, 69)))
def test_quirk_23_missing_group_is_dead(version: int, code: int) -> None:
    async def scene() -> tuple[str, int]:
        async with coordinating() as harness:
            await locate(harness)
            request = DescribeGroupsRequest(groups=["none"])
            answer = await groups.describe_groups(harness.broker, harness.context(version), request)
            return answer.groups[0].group_state, answer.groups[0].error_code

    assert run(scene()) == ("Dead", code)


def test_member_among_many_leaves_and_every_one_has_its_result() -> None:
    """LeaveGroup of 49,000 members was one event of 80 ms."""

    async def scene() -> tuple[int, list[int], int, str]:
        async with coordinating() as harness:
            await locate(harness)
            member = MemberOf(harness)
            await member.enter()
            others = [f"unknown-{number}" for number in range(groups.MOST_MEMBERS)]
            members = [MemberIdentity(member_id=each) for each in (*others, member.id)]
            request = LeaveGroupRequest(group_id="g", members=members)
            left = await groups.leave_group(harness.broker, harness.context(5), request)
            assert [each.member_id for each in left.members] == [*others, member.id]
            codes = {each.error_code for each in left.members[:-1]}
            return left.error_code, [*codes], left.members[-1].error_code, await state_of(harness)

    assert run(scene()) == (0, [25], 0, "Empty")


def test_leave_of_many_members_is_rejected_as_a_whole() -> None:
    async def scene() -> tuple[int, int]:
        async with coordinating() as harness:
            members = [MemberIdentity(member_id="m")] * (groups.MOST_MEMBERS + 1)
            request = LeaveGroupRequest(group_id="g", members=members)
            left = await groups.leave_group(harness.broker, harness.context(5), request)
            return left.error_code, len(left.members)

    assert run(scene()) == (16, 0)


def test_groups_of_one_partition_are_listed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 groups were one event of 22 ms."""
    parts, listed_at_once = list[int](), GroupRegistry.listed

    def listed(registry: GroupRegistry, page: GroupPage) -> list[ListedGroup]:
        found = listed_at_once(registry, page)
        parts.append(len(found))
        return found

    monkeypatch.setattr(GroupRegistry, "listed", listed)

    async def scene() -> int:
        async with coordinating(offsets_topic_num_partitions="1") as harness:
            await locate(harness)
            (shard,) = harness.broker.coordinators.groups.runtime.shards()
            for number in range(groups.MOST_LISTED + 1):
                shard.groups.put(ClassicGroup(f"g-{number}"))
            request = ListGroupsRequest(states_filter=["Empty"])
            answer = await groups.list_groups(harness.broker, harness.context(5), request)
            return len(answer.groups)

    assert run(scene()) == groups.MOST_LISTED + 1
    assert parts == [groups.MOST_LISTED, 1]


def test_group_that_is_named_twice_is_described_once() -> None:
    async def scene() -> list[str]:
        async with coordinating() as harness:
            request = DescribeGroupsRequest(groups=["g", "h", "g"])
            answer = await groups.describe_groups(harness.broker, harness.context(5), request)
            return [each.group_id for each in answer.groups]

    assert run(scene()) == ["g", "h"]


def convert(shard: GroupShard, *_: int) -> Outcome:
    """Take a group out of the shard until the record of its conversion is replayed."""
    shard.groups.remove(shard.groups.get("g"))
    return Outcome(rest=lambda: Outcome(records=[group_record("g")]))


def test_group_that_a_long_event_converts_is_listed(monkeypatch: pytest.MonkeyPatch) -> None:
    async def scene() -> list[str]:
        async with coordinating(offsets_topic_num_partitions="1") as harness:
            await locate(harness)
            runtime, worker = harness.broker.coordinators.groups.runtime, HeldWorker()
            (shard,) = runtime.shards()
            shard.groups.put(ClassicGroup("g"))
            with monkeypatch.context() as held:
                held.setattr(
                    InlineWorker, "submit", lambda _, *call, **lane: worker.submit(*call, **lane)
                )
                runtime.begin(0, convert)
                request = ListGroupsRequest()
                listing = asyncio.ensure_future(
                    groups.list_groups(harness.broker, harness.context(5), request)
                )
                await turns(5)
            worker.go_on()
            return [each.group_id for each in (await listing).groups]

    assert run(scene()) == ["g"]

"""Subscriptions, callbacks and commits of a consumer against a fake coordinator."""

import asyncio
from functools import partial

import pytest

from cordwood.client.consumer.group_subscription import RebalanceCallbacks
from cordwood.client.group.membership import RebalanceKind
from cordwood.client.group_offset import GroupOffset
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    GroupMaxSizeReachedError,
    InvalidRequestError,
    KafkaError,
    UnknownMemberIdError,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from cordwood.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from cordwood.protocol.messages.join_group import JoinGroupRequest
from cordwood.protocol.messages.leave_group import LeaveGroupRequest
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest
from tests.unit.client.fake_broker import run
from tests.unit.client.fake_coordinator import coordinator, member, until
from tests.unit.client.samples import LONG_MS, T0, batch, values

PROTOCOLS = ("classic", "consumer")


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_subscribed_consumer_reads_and_its_callbacks_are_called(protocol: str) -> None:
    async def scene() -> None:
        calls: list[tuple[str, list[TopicPartition]]] = []

        async def revoked(partitions: list[TopicPartition]) -> None:
            await asyncio.sleep(0)
            calls.append(("revoked", partitions))

        async with coordinator(t=2) as fake:
            async with member(fake, group_protocol=protocol) as reader:
                fake.append("t", batch(b"a"))
                reader.subscribe(
                    ["t"],
                    on_assigned=lambda each: calls.append(("assigned", each)),
                    on_revoked=revoked,
                )
                assert await values(reader, 1) == [b"a"]
                assert reader.subscription() == {"t"}
            both = partitions_of([("t", 0), ("t", 1)])
            assert calls == [("assigned", both), ("revoked", both)]

    run(scene())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_consumer_begins_at_the_committed_offset_and_commits_its_positions(protocol: str) -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, group_protocol=protocol) as reader:
            for value in (b"a", b"b", b"c"):
                fake.append("t", batch(value))
            fake.committed[T0] = (1, None)
            reader.subscribe(["t"])
            assert await values(reader, 2) == [b"b", b"c"]
            await reader.commit()
            assert fake.committed[T0] == (3, "")

    run(scene())


def test_classic_member_leaves_at_the_end_and_a_static_one_does_not() -> None:
    async def scene() -> None:
        for instance, left in ((None, 1), ("i", 0)):
            async with coordinator(t=1) as fake:
                async with member(fake, group_instance_id=instance) as reader:
                    fake.append("t", batch(b"a"))
                    reader.subscribe(["t"])
                    await values(reader, 1)
                assert len(fake.requests(LeaveGroupRequest)) == left

    run(scene())


def test_rebalance_revokes_in_the_next_poll() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            revoked: list[object] = []
            reader.subscribe(["t"], on_revoked=revoked.append)
            await values(reader, 1)
            fake.script(HeartbeatRequest, lambda _: HeartbeatResponse(error_code=27))
            await until(fake, lambda: len(fake.requests(HeartbeatRequest)) > 1)
            assert revoked == []
            while len(fake.requests(JoinGroupRequest)) < 2:
                await reader.poll(5)
            assert revoked == [[T0]]

    run(scene())


def test_removed_member_loses_its_partitions_and_joins_again() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            lost: list[object] = []
            reader.subscribe(["t"], on_lost=lost.append)
            await values(reader, 1)
            fake.script(HeartbeatRequest, lambda _: HeartbeatResponse(error_code=25))
            while len(fake.requests(JoinGroupRequest)) < 2:
                await reader.poll(5)
            assert lost == [[T0]]

    run(scene())


def test_error_of_a_callback_is_raised_and_the_rebalance_is_complete() -> None:
    def fail(_: object) -> None:
        raise InvalidRequestError("mine")

    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"], on_assigned=fail)
            with pytest.raises(InvalidRequestError, match="mine"):
                await reader.poll(LONG_MS)
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_callback_cannot_poll_unsubscribe_or_close() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            rejected: list[object] = []

            async def assigned(_: object) -> None:
                for call in (reader.poll, reader.unsubscribe, reader.close, reader.leave):
                    with pytest.raises(InvalidRequestError, match="cannot poll, unsubscribe or"):
                        await call()
                    rejected.append(call)

            fake.append("t", batch(b"a"))
            reader.subscribe(["t"], on_assigned=assigned)
            assert await values(reader, 1) == [b"a"]
            assert len(rejected) == 4

    run(scene())


def test_close_ends_the_poll_of_another_task() -> None:
    async def scene() -> None:
        revoked: list[object] = []

        async def note(partitions: object) -> None:
            await asyncio.sleep(0)
            revoked.append(partitions)

        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"], on_revoked=note)
            await values(reader, 1)
            polled, closed = await asyncio.gather(
                reader.poll(LONG_MS), reader.close(), return_exceptions=True
            )
            assert (type(polled), closed, revoked) == (InvalidRequestError, None, [[T0]])

    run(scene())


def test_close_completes_the_commits_in_the_background() -> None:
    both = (OffsetCommitRequest, LeaveGroupRequest)

    async def scene() -> None:
        results: list[object] = []
        async with coordinator(t=1) as fake:
            async with member(fake) as reader:
                fake.append("t", batch(b"a"))
                reader.subscribe(["t"])
                await values(reader, 1)
                reader.commit_async({T0: 1}, callback=lambda _, error: results.append(error))
            assert (results, fake.committed[T0][0]) == ([None], 1)
            assert [type(each) for each in fake.asked if isinstance(each, both)] == list(both)

    run(scene())


def test_final_error_is_raised_by_each_poll_and_names_the_remedy() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, group_protocol="consumer") as reader:
            full = ConsumerGroupHeartbeatResponse(
                error_code=81, member_epoch=0, heartbeat_interval_ms=0
            )
            fake.script(ConsumerGroupHeartbeatRequest, lambda _: full)
            reader.subscribe(["t"])
            for _ in range(2):
                with pytest.raises(GroupMaxSizeReachedError, match=r"group 'g'.*group\.max\.size"):
                    await reader.poll(LONG_MS)
            await reader.unsubscribe()

    run(scene())


def test_unsubscribed_consumer_may_be_assigned() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            with pytest.raises(InvalidRequestError, match="unsubscribe"):
                reader.assign([T0])
            await reader.unsubscribe()
            assert (reader.assignment(), reader.subscription()) == ((), frozenset())
            reader.assign([T0])
            with pytest.raises(InvalidRequestError, match="unsubscribe"):
                reader.subscribe(["t"])
            assert await values(reader, 1) == [b"a"]

    run(scene())


def test_commit_in_the_background_reports_to_a_later_poll() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            results: list[KafkaError | None] = []
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=25))
            reader.assign([T0])
            for _ in range(2):
                reader.commit_async({T0: 3}, callback=lambda _, error: results.append(error))
            while len(results) < 2:
                await reader.poll(5)
            kinds = {type(each) for each in results}
            assert kinds == {UnknownMemberIdError, type(None)}

    run(scene())


def test_offsets_may_have_metadata_and_are_not_negative() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            await reader.commit({T0: GroupOffset(3, "note")})
            assert fake.committed[T0] == (3, "note")
            (found,) = (await reader.committed([T0])).values()
            assert found is not None
            assert (found.offset, found.metadata) == (3, "note")
            with pytest.raises(InvalidRequestError, match="at least 0"):
                await reader.commit({T0: -1})

    run(scene())


def test_lost_partitions_are_reported_as_revoked_without_another_callback() -> None:
    callbacks = RebalanceCallbacks(on_revoked=print)

    assert callbacks.of(RebalanceKind.LOST) is print
    assert callbacks.of(RebalanceKind.ASSIGNED) is None

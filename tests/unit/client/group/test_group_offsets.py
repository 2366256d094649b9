"""Commits and lookups of a group's offsets against a fake coordinator."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from functools import partial

import pytest

from cordwood.client.group.group_coordinator import GroupCoordinator
from cordwood.client.group.group_offsets import GroupOffsets
from cordwood.client.group.membership import MemberIdentity
from cordwood.client.group_offset import GroupOffset
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import (
    IllegalGenerationError,
    NotCoordinatorError,
    StaleMemberEpochError,
    UnknownMemberIdError,
    UnstableOffsetCommitError,
)
from cordwood.protocol.messages.find_coordinator import FindCoordinatorRequest
from cordwood.protocol.messages.offset_commit import OffsetCommitRequest
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.unit.client.fake_broker import run
from tests.unit.client.fake_coordinator import FakeCoordinator, coordinator
from tests.unit.client.samples import LONG_MS, routed

T0, T1 = partitions_of([("t", 0), ("t", 1)])
PLACES = {T0: GroupOffset(5, "note")}


@asynccontextmanager
async def offsets(
    fake: FakeCoordinator,
    identity: Callable[[], MemberIdentity] = MemberIdentity,
    *,
    is_subscribed: bool = False,
) -> AsyncIterator[GroupOffsets]:
    async with routed(fake.address) as client:
        group = GroupCoordinator(client, "g")
        made = GroupOffsets(
            client, group, group_id="g", instance_id="i", identity=identity, has_epochs=True
        )
        made.is_subscribed = lambda: is_subscribed
        yield made
        group.disconnect()


def test_committed_offset_is_found_again() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            await group.commit(PLACES, timeout_ms=LONG_MS)
            found = await group.committed([T0, T1], requires_stable=True)
            assert found == {T0: GroupOffset(5, "note"), T1: None}
            (request,) = fake.requests(OffsetCommitRequest)
            assert (request.member_id, request.group_instance_id) == ("", None)
            assert fake.requests(OffsetFetchRequest)[0].require_stable

    run(scene())


@pytest.mark.parametrize("code", (3, 14, 15, 16))
def test_commit_is_retried_while_the_coordinator_is_not_ready(code: int) -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=code))
            await group.commit(PLACES, timeout_ms=LONG_MS)
            assert fake.committed["t", 0] == (5, "note")
            assert len(fake.requests(FindCoordinatorRequest)) == 1 + (code in {15, 16})

    run(scene())


@pytest.mark.parametrize("code", (14, 16, 88))
def test_lookup_is_retried_while_the_coordinator_is_not_ready(code: int) -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            fake.script(OffsetFetchRequest, partial(fake.fetch_offsets, error_code=code))
            assert await group.committed([T0], requires_stable=False) == {T0: None}

    run(scene())


def test_lookup_of_offsets_in_an_open_transaction_fails_with_a_remedy() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            for _ in range(200):
                fake.script(OffsetFetchRequest, partial(fake.fetch_offsets, error_code=88))
            text = "group 'g': .*transaction.*; .*`init` .*transactional_id"
            with pytest.raises(UnstableOffsetCommitError, match=text):
                await group.committed([T0], requires_stable=True, timeout_ms=100)

    run(scene())


@pytest.mark.parametrize(
    ("code", "kind"), ((25, UnknownMemberIdError), (22, IllegalGenerationError))
)
def test_commit_of_a_removed_member_fails_with_group_member_and_remedy(
    code: int, kind: type[Exception]
) -> None:
    async def scene() -> None:
        member = MemberIdentity("m-1", 3)
        async with coordinator(t=2) as fake, offsets(fake, lambda: member) as group:
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=code))
            text = "t-0, group 'g', member 'm-1': .*; .*max_poll_interval_ms"
            with pytest.raises(kind, match=text):
                await group.commit(PLACES, timeout_ms=LONG_MS)
            assert fake.requests(OffsetCommitRequest)[0].group_instance_id == "i"

    run(scene())


def test_stale_epoch_is_retried_with_the_present_one() -> None:
    async def scene() -> None:
        epochs: Iterator[MemberIdentity] = iter([MemberIdentity("m", each) for each in (1, 1, 2)])
        async with coordinator(t=2) as fake, offsets(fake, lambda: next(epochs)) as group:
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=113))
            await group.commit(PLACES, timeout_ms=LONG_MS)
            found = [
                each.generation_id_or_member_epoch for each in fake.requests(OffsetCommitRequest)
            ]
            assert found == [1, 2]

    run(scene())


def test_stale_epoch_without_a_membership_is_an_error() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=113))
            with pytest.raises(StaleMemberEpochError):
                await group.commit(PLACES, timeout_ms=LONG_MS)

    run(scene())


def test_commit_ends_at_its_timeout() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            for _ in range(200):
                fake.script(OffsetCommitRequest, partial(fake.commit, error_code=16))
            with pytest.raises(NotCoordinatorError):
                await group.commit(PLACES, timeout_ms=100)

    run(scene())


def test_commit_without_a_retry_returns_its_error() -> None:
    """A retry could overwrite a later commit."""

    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            fake.script(OffsetCommitRequest, partial(fake.commit, error_code=16))
            assert isinstance(await group.commit_once(PLACES), NotCoordinatorError)
            assert fake.committed == {}
            assert await group.commit_once(PLACES) is None
            assert fake.committed["t", 0] == (5, "note")

    run(scene())


def test_subscribed_consumer_outside_of_its_group_cannot_commit() -> None:
    """An empty group would accept the commit, and lose a later one of another member."""

    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake, is_subscribed=True) as group:
            with pytest.raises(UnknownMemberIdError, match=r"group 'g'.*max_poll_interval_ms"):
                await group.commit(PLACES, timeout_ms=LONG_MS)
            assert fake.committed == {}

    run(scene())


def test_nothing_is_sent_without_partitions() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, offsets(fake) as group:
            await group.commit({}, timeout_ms=None)
            assert await group.committed([], requires_stable=False) == {}
            assert fake.asked == []

    run(scene())

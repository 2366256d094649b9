"""Positions at committed offsets."""

import pytest

from cordwood.core.errors import GroupAuthorizationFailedError, OffsetOutOfRangeError
from cordwood.protocol.messages.offset_fetch import OffsetFetchRequest
from tests.unit.client.fake_broker import run
from tests.unit.client.fake_coordinator import coordinator, member
from tests.unit.client.samples import LONG_MS, T0, batch, values


def test_assignment_begins_at_the_committed_offset_or_where_the_reset_decides() -> None:
    async def scene() -> None:
        async with coordinator(t=2) as fake, member(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            fake.committed[T0] = (1, "")
            reader.assign([T0, ("t", 1)])
            assert await reader.position(T0) == 1
            assert await reader.position(("t", 1)) == 0
            assert len(fake.requests(OffsetFetchRequest)) == 1

    run(scene())


def test_seek_wins_over_the_committed_offset() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a", b"b"))
            fake.committed[T0] = (1, "")
            reader.assign([T0])
            reader.seek(T0, 0)
            assert await values(reader, 2) == [b"a", b"b"]

    run(scene())


def test_partition_without_a_committed_offset_and_a_reset_is_an_error() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, auto_offset_reset="none") as reader:
            reader.assign([T0])
            with pytest.raises(OffsetOutOfRangeError, match="has no position"):
                await reader.poll(LONG_MS)

    run(scene())


def test_error_of_the_lookup_is_raised_and_the_next_poll_looks_up_again() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake) as reader:
            fake.append("t", batch(b"a"))
            fake.script(OffsetFetchRequest, lambda request: fake.fetch_offsets(request, 30))
            reader.assign([T0])
            with pytest.raises(GroupAuthorizationFailedError, match="group 'g'"):
                await reader.poll(LONG_MS)
            assert await values(reader, 1) == [b"a"]

    run(scene())

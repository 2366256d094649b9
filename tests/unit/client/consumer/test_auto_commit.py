"""Automatic commits against a fake coordinator."""

import asyncio

import pytest

from cordwood.protocol.messages.offset_commit import OffsetCommitRequest
from tests.unit.client.fake_broker import run
from tests.unit.client.fake_coordinator import coordinator, member, until
from tests.unit.client.samples import LONG_MS, T0, batch, values

AUTO = {"enable_auto_commit": True, "auto_commit_interval_ms": 10}


def test_interval_commits_only_records_of_earlier_polls() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, **AUTO) as reader:
            fake.append("t", batch(b"a", b"b", b"c"))
            reader.subscribe(["t"])
            await reader.poll(LONG_MS, max_records=1)
            await reader.poll(LONG_MS, max_records=1)
            await until(fake, lambda: T0 in fake.committed)
            await asyncio.sleep(0.05)
            assert fake.committed[T0][0] == 1

    run(scene())


def test_unchanged_positions_are_committed_again() -> None:
    """Offsets of a group without members expire by the time of their commit."""

    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, **AUTO) as reader:
            fake.append("t", batch(b"a"))
            reader.assign([T0])
            reader.seek(T0, 1)
            await until(fake, lambda: len(fake.requests(OffsetCommitRequest)) > 2)
            assert fake.committed[T0][0] == 1

    run(scene())


@pytest.mark.parametrize("protocol", ("classic", "consumer"))
def test_close_commits_everything_that_was_returned(protocol: str) -> None:
    async def scene() -> None:
        options = {**AUTO, "auto_commit_interval_ms": 60_000, "group_protocol": protocol}
        async with coordinator(t=1) as fake:
            async with member(fake, **options) as reader:
                fake.append("t", batch(b"a", b"b"))
                reader.subscribe(["t"])
                await values(reader, 2)
            assert fake.committed[T0][0] == 2

    run(scene())


def test_seek_after_a_poll_is_what_is_committed() -> None:
    async def scene() -> None:
        async with coordinator(t=1) as fake, member(fake, **AUTO) as reader:
            fake.append("t", batch(b"a", b"b"))
            reader.assign([T0])
            await values(reader, 2)
            reader.seek(T0, 1)
            await until(fake, lambda: fake.committed.get(T0, (0, ""))[0] == 1)

    run(scene())


def test_failed_commit_at_the_end_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def scene() -> None:
        options = {**AUTO, "auto_commit_interval_ms": 60_000}
        async with coordinator(t=1) as fake, member(fake, **options) as reader:
            fake.append("t", batch(b"a"))
            reader.subscribe(["t"])
            await values(reader, 1)
            fake.script(OffsetCommitRequest, lambda request: fake.commit(request, 25))

    run(scene())
    assert "automatic commit failed" in caplog.text

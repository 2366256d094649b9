"""The blocking consumer as member of a group."""

import threading
from collections.abc import Iterator

import pytest

from cordwood.client.blocking import Consumer
from cordwood.client.loop_thread import LoopThread
from cordwood.core.errors import InvalidRequestError
from cordwood.core.types import TopicPartition
from tests.unit.client.fake_coordinator import FakeCoordinator, coordinator
from tests.unit.client.samples import LONG_MS, T0, batch


@pytest.fixture
def fake() -> Iterator[FakeCoordinator]:
    """A coordinator with topic t and three records, on its own thread."""
    thread = LoopThread("coordinator")
    serving = coordinator(t=1)
    made = thread.run(serving.__aenter__())
    made.append("t", batch(b"a", b"b", b"c"))
    yield made
    thread.run(_ended(serving))
    thread.end(_nothing)


async def _ended(serving: object) -> None:
    await serving.__aexit__(None, None, None)  # type: ignore[attr-defined]  # a context manager


async def _nothing() -> None:
    """End the thread without a last call."""


def member(fake: FakeCoordinator, **options: object) -> Consumer[bytes, bytes]:
    quick = {"auto_offset_reset": "earliest", "fetch_max_wait_ms": 5, **options}
    return Consumer(fake.address, group="g", **quick)  # type: ignore[arg-type]  # by name


def test_callbacks_run_on_the_calling_thread_and_may_commit(fake: FakeCoordinator) -> None:
    threads: list[str] = []

    def revoked(_: list[TopicPartition]) -> None:
        threads.append(threading.current_thread().name)
        consumer.commit({T0: 2})

    with member(fake, enable_auto_commit=False) as consumer:
        consumer.subscribe(
            ["t"], on_assigned=lambda _: threads.append("assigned"), on_revoked=revoked
        )
        assert len(consumer.poll(LONG_MS)) == 3

    assert threads == ["assigned", threading.current_thread().name]
    assert fake.committed[T0] == (2, "")


def test_assigned_callback_may_seek(fake: FakeCoordinator) -> None:
    with member(fake) as consumer:
        consumer.subscribe(["t"], on_assigned=lambda _: consumer.seek(T0, 2))

        assert [each.value for each in consumer.poll(LONG_MS)] == [b"c"]


def test_callback_that_closes_the_consumer_is_rejected(fake: FakeCoordinator) -> None:
    with member(fake) as consumer:
        consumer.subscribe(["t"], on_assigned=lambda _: consumer.close())
        with pytest.raises(InvalidRequestError, match="rebalance is being completed"):
            consumer.poll(LONG_MS)

        assert len(consumer.poll(LONG_MS)) == 3


def test_commits_are_found_again(fake: FakeCoordinator) -> None:
    done: list[object] = []
    with member(fake, enable_auto_commit=False) as consumer:
        consumer.subscribe(["t"])
        consumer.poll(LONG_MS)
        consumer.commit_async(callback=lambda _, error: done.append(error))
        while not done:
            consumer.poll(5)

        assert done == [None]
        (found,) = consumer.committed([T0]).values()
        assert found is not None
        assert found.offset == 3
        assert consumer.subscription() == {"t"}
        assert consumer.group_metadata() == ("g", 1, "member-1", None)
        consumer.unsubscribe()
        assert consumer.assignment() == ()


def test_close_commits_and_may_be_called_again(fake: FakeCoordinator) -> None:
    consumer = member(fake)
    consumer.subscribe(["t"])
    consumer.poll(LONG_MS)

    consumer.close()
    consumer.close()

    assert fake.committed[T0] == (3, "")

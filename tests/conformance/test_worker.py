"""Conformance tests of the Worker port, for the thread pool and the inline worker."""

from collections.abc import Iterator

import pytest

from cordwood.core.ports import Lane, Pending, Worker
from cordwood.core.system import ThreadWorker
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles


@pytest.fixture(params=["system", "inline"])
def worker(request: pytest.FixtureRequest) -> Iterator[Worker]:
    made: Worker = ThreadWorker(threads=2) if request.param == "system" else InlineWorker()
    yield made
    made.close()


@pytest.mark.parametrize("lane", Lane)
def test_worker_returns_the_result(worker: Worker, lane: Lane) -> None:
    pending = worker.submit(lambda: 42, lane=lane)

    assert pending.result() == 42
    assert pending.exception() is None
    assert pending.done()


def test_worker_returns_the_error(worker: Worker) -> None:
    pending = worker.submit(lambda: 1 // 0, lane=Lane.READ)

    assert isinstance(pending.exception(), ZeroDivisionError)
    with pytest.raises(ZeroDivisionError):
        pending.result()


def test_worker_calls_back_when_done(worker: Worker) -> None:
    seen: list[Pending[int]] = []

    pending = worker.submit(lambda: 1, lane=Lane.READ)
    pending.add_done_callback(seen.append)
    worker.close()

    assert seen == [pending]


def test_sync_makes_the_file_durable(worker: Worker) -> None:
    files = MemoryFiles()
    file = files.create("/a")
    file.append(b"x")

    worker.sync(file).result()

    assert files.pending() == ("name /a",)


def test_sync_returns_the_error_of_the_file(worker: Worker) -> None:
    file = MemoryFiles().create("/a")
    file.close()

    assert isinstance(worker.sync(file).exception(), OSError)


def test_closed_worker_rejects_tasks(worker: Worker) -> None:
    worker.close()

    for lane in Lane:
        with pytest.raises(RuntimeError):
            worker.submit(lambda: 1, lane=lane)

"""The guard of the event loop finds blocking calls, and nothing else."""

import asyncio
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from pathlib import Path

import pytest

from cordwood.core.ports import Files, Lane
from cordwood.core.system import SystemFiles, ThreadWorker
from cordwood.storage.files.atomic_write import write_atomically
from cordwood.testing.inline_worker import InlineWorker
from cordwood.testing.memory_files import MemoryFiles
from tests.loop_guard import ALLOWED, BlockingCall, guarded
from tests.serving import Serving, ended_with
from tests.unit.storage.log_samples import LogHarness, filled

ROOT = Path(__file__).parents[1]
#: `cordwood` under the guard, with an fsync on the loop before its ready line.
PLANTED = """
from cordwood.cli import serve_run
from cordwood.core.system import SystemFiles
from cordwood.storage.files.atomic_write import write_atomically
from tests.loop_guard import run_guarded

def ready_line(node, original=serve_run._ready_line):
    write_atomically(SystemFiles(), "planted", data=b"")
    return original(node)

serve_run._ready_line = ready_line
run_guarded()
"""


@pytest.fixture(autouse=True)
def _event_loops_are_guarded(blocking_calls: list[BlockingCall]) -> Iterator[None]:
    """Let the tests of this module block their loops."""
    yield
    blocking_calls.clear()


def found_on_a_loop(call: Callable[[], object]) -> list[str]:
    """Make a call on a running loop; return the names of the blocking calls."""
    found: list[BlockingCall] = []

    async def scene() -> None:
        call()

    with guarded(found.append):
        asyncio.run(scene())
    return [each.name for each in found]


@pytest.fixture(params=["system", "memory"])
def files(request: pytest.FixtureRequest) -> Files:
    return SystemFiles() if request.param == "system" else MemoryFiles()


@pytest.fixture
def write(files: Files, tmp_path: Path) -> Callable[[], None]:
    """Return a call of Cordwood with an fsync of a file and one of its directory."""
    if isinstance(files, MemoryFiles):
        files.make_directory("/logs")
        return lambda: write_atomically(files, "/logs/a", data=b"text")
    return lambda: write_atomically(files, str(tmp_path / "a"), data=b"text")


def test_fsync_on_a_loop_is_found_with_its_stack(write: Callable[[], None]) -> None:
    found: list[BlockingCall] = []

    async def scene() -> None:
        write()

    with guarded(found.append):
        asyncio.run(scene())

    assert [each.name.split(".")[1] for each in found] == ["sync", "sync_directory"]
    assert "src/cordwood/storage/files/atomic_write.py:" in str(found[0])
    assert "blocks the event loop" in str(found[0])


def test_change_of_files_by_a_log_on_a_loop_is_found() -> None:
    log = filled(LogHarness().open(), 1)

    found = found_on_a_loop(log.roll)

    assert {each.split(".")[1] for each in found} >= {"create", "truncate"}


def test_fsync_without_a_loop_is_allowed(write: Callable[[], None]) -> None:
    found: list[BlockingCall] = []

    with guarded(found.append):
        write()

    assert found == []


def test_fsync_of_a_worker_is_allowed(write: Callable[[], None]) -> None:
    assert found_on_a_loop(lambda: InlineWorker().submit(write, lane=Lane.FLUSH)) == []


def test_fsync_of_a_test_is_allowed() -> None:
    file = MemoryFiles().create("/a")

    assert found_on_a_loop(file.sync) == []


def test_wait_for_a_thread_is_found() -> None:
    worker, gate = ThreadWorker(1), threading.Event()
    pending = worker.submit(gate.wait, lane=Lane.READ)
    gate.set()

    assert found_on_a_loop(worker.close) == ["Thread.join"]
    assert pending.done()


def test_result_that_exists_is_allowed() -> None:
    done: Future[int] = Future()
    done.set_result(1)

    assert found_on_a_loop(done.result) == []


def test_calls_are_unwrapped_after_the_block() -> None:
    before = Future.result

    with guarded(print):
        during = Future.result

    assert (before, during) == (Future.result, during)
    assert before is not during


def test_allowed_functions_exist() -> None:
    for row in ALLOWED:
        path, name = row.split()
        assert f"def {name.split('.')[-1]}(" in (ROOT / path).read_text(), row


def test_served_process_fails_its_test_for_a_blocking_call(tmp_path: Path) -> None:
    program = (sys.executable, "-c", PLANTED)

    with ended_with(Serving(tmp_path, program=program)) as broker:
        broker.start()
        with pytest.raises(AssertionError, match=r"SystemFile\.sync blocks the event loop"):
            broker.stop()

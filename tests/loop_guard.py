"""Guard of the event loop in the test-suite: a blocking call on a running loop is an error.

The guard wraps calls that wait for a disk or for another thread. These are fsync of a file or of a
directory, in `SystemFiles` and `MemoryFiles`; `result` and `exception` of a future that is not
done; and `Thread.join`. In the code of logs, they are also changes of the name or the size of a
file, which wait while the file system commits its journal. A call is an error if its thread runs an
event loop and Cordwood's code is in its stack. The time that it takes does not matter, so the
result is the same on every machine.

`python -m tests.loop_guard` is `cordwood` under the guard; it prints the errors.

Callbacks that hold up a loop for 20 ms are not errors, because a busy machine delays all code. They
are collected in `HELD_UP` and shown at the end of the test run.
"""

import asyncio
import functools
import inspect
import logging
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from types import CodeType, FrameType
from typing import Final, NamedTuple

from cordwood.cli import main
from cordwood.core.system import SystemFile, SystemFiles
from cordwood.observability.log_lines import LOGFMT
from cordwood.observability.logs import EventFormatter
from cordwood.testing.memory_files import MemoryFile, MemoryFiles

#: The words of every report; `tests.serving` counts them.
BLOCKED: Final = "blocks the event loop"

#: The setting by which a broker reports long callbacks, and the words of the report.
SLOW_CALL_MS: Final = ("cordwood.slow.call.ms", "20")
REPORTED: Final = "loop held up"
#: The reports of this process and of served ones.
HELD_UP: Final[list[str]] = []

#: A file system that commits its journal blocks these calls too.
_NAME_CHANGES: Final = ("create", "rename", "remove")
_SIZE_CHANGES: Final = ("truncate", "preallocate")
_WRAPPED: Final = (
    (SystemFile, "sync"),
    (MemoryFile, "sync"),
    (SystemFiles, "sync_directory"),
    (MemoryFiles, "sync_directory"),
    *((owner, name) for owner in (SystemFiles, MemoryFiles) for name in _NAME_CHANGES),
    *((owner, name) for owner in (SystemFile, MemoryFile) for name in _SIZE_CHANGES),
    (Future, "result"),
    (Future, "exception"),
    (threading.Thread, "join"),
)
_ROOT: Final = str(Path(__file__).parents[1])
_SOURCE: Final = "src/cordwood/"
#: The code of which changes of files are errors.
_LOGS: Final = "src/cordwood/storage/log/"
#: Functions that may block the loop, and why.
ALLOWED: Final = {
    "src/cordwood/testing/inline_worker.py InlineWorker.submit": "a worker without threads",
    "tests/unit/storage/manager_samples.py HeldCall.run": "a worker without threads",
    "tests/unit/storage/log_samples.py filled": "a test writes a log itself",
    "tests/unit/storage/log_samples.py lead": "a test writes a log itself",
    "tests/unit/test_lost_metadata.py write_old_records": "a test writes a log itself",
    "tests/robustness/test_damaged_small_files.py first_life": "a test writes a log itself",
    "tests/unit/broker/broker_samples.py BrokerHarness.__init__": "a test makes its broker",
    "tests/properties/replica_cluster.py lose_end": "a test loses the end of a log",
    "src/cordwood/node/node.py Node._lock_directories": "no listener is open",
    "src/cordwood/node/node.py Node._make_manager": "no listener is open",
    "src/cordwood/node/node.py Node._make_services": "no listener is open",
    "src/cordwood/node/runtime.py NodeRuntime.close": "every node has stopped",
    "src/cordwood/storage/manager/log_manager.py LogManager.close": "no listener is open",
    "src/cordwood/storage/log/log_relocation.py rename": "a deleted log gets its name at once",
    "src/cordwood/storage/log/segment_swap.py _steps": "readers open the files on the loop",
    "src/cordwood/storage/segment/segment_files.py SegmentFiles._undo": "a write has failed",
    "src/cordwood/storage/manager/log_directories.py give_back": "no listener is open",
}


#: asyncio joins the threads of a loop that has stopped, in a coroutine of the loop.
_END_OF_LOOP: Final = "BaseEventLoop.shutdown_default_executor"


class BlockingCall(NamedTuple):
    """A call that blocked a loop, and its stack, the innermost call last."""

    name: str
    stack: tuple[str, ...]

    def __str__(self) -> str:
        return "\n    ".join((f"{self.name} {BLOCKED}:", *self.stack))


Report = Callable[[BlockingCall], object]


@contextmanager
def guarded(report: Report) -> Iterator[None]:
    """Pass the blocking calls of all threads to `report`, until the end of the block."""
    originals = [(owner, name, getattr(owner, name)) for owner, name in _WRAPPED]
    for owner, name, original in originals:
        setattr(owner, name, _checked(original, report))
    try:
        yield
    finally:
        for owner, name, original in originals:
            setattr(owner, name, original)


def _checked(call: Callable[..., object], report: Report) -> Callable[..., object]:
    @functools.wraps(call)
    def checked(subject: object, *arguments: object, **options: object) -> object:
        is_done = isinstance(subject, Future) and subject.done()
        if _has_running_loop() and not is_done:
            found = _blocking_call(call.__qualname__, inspect.currentframe())
            if found is not None:
                report(found)
        return call(subject, *arguments, **options)

    return checked


def _has_running_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


class _Place(NamedTuple):
    """A function of a stack; `is_allowed` if it may block the loop."""

    path: str
    is_allowed: bool


@functools.cache
def _place(code: CodeType) -> _Place:
    path = code.co_filename.removeprefix(_ROOT).removeprefix("/")
    is_allowed = f"{path} {code.co_qualname}" in ALLOWED or code.co_qualname == _END_OF_LOOP
    return _Place(path, is_allowed)


def _blocking_call(name: str, frame: FrameType | None) -> BlockingCall | None:
    """Return the call with its stack; None if it is allowed, or not a call of Cordwood."""
    is_change = name.rpartition(".")[2] in (*_NAME_CHANGES, *_SIZE_CHANGES)
    guarded_paths = _LOGS if is_change else _SOURCE
    frames, is_guarded = list[FrameType](), False
    while frame is not None:
        place = _place(frame.f_code)
        if place.is_allowed:
            return None
        is_guarded = is_guarded or place.path.startswith(guarded_paths)
        frames.append(frame)
        frame = frame.f_back
    if not is_guarded:
        return None
    return BlockingCall(name, tuple(_line_of(each) for each in reversed(frames)))


def _line_of(frame: FrameType) -> str:
    return f"{_place(frame.f_code).path}:{frame.f_lineno} {frame.f_code.co_qualname}"


_EVENTS: Final = EventFormatter(LOGFMT)


class HeldUpHandler(logging.Handler):
    """Collects the reports of brokers in this process."""

    def emit(self, record: logging.LogRecord) -> None:
        """Keep the report."""
        if record.getMessage() == REPORTED:
            HELD_UP.append(_EVENTS.format(record))


def run_guarded() -> None:
    """Run the command line under the guard."""
    with guarded(lambda call: sys.stderr.write(f"{call}\n")):
        main()


if __name__ == "__main__":
    run_guarded()

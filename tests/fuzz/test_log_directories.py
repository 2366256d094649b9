"""A log directory with one damaged log: only that log fails, and only with our own errors.

The files of the damaged log get other bytes, other names or unexpected neighbours, or are removed.
The rest is loaded together with a healthy log, then read, appended to, closed and loaded again.
"""

import random
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

from cordwood.core.errors import CordwoodError
from cordwood.core.ports import Worker
from cordwood.core.types import Offset
from cordwood.storage.checkpoints.checkpoint_files import format_offset_checkpoint
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.storage.manager import (
    log_creation,
    log_manager,
    log_startup,
)
from cordwood.storage.manager.log_directory import CHECKPOINTS
from cordwood.storage.manager.log_manager import LogManager
from cordwood.storage.manager.per_directory import DirectoryTask, run_per_directory
from cordwood.testing.memory_files import MemoryFiles
from tests.fuzz.harness import CASES, SEED
from tests.fuzz.mutations import CHANGES, INTERESTING, repair
from tests.unit.storage.log_samples import batch, filled, follow, interleaved, lead, offsets, read
from tests.unit.storage.manager_samples import LogManagerHarness, partition
from tests.unit.storage.segment_samples import message

Report = Callable[[str], None]
Contents = dict[str, bytes]
T = TypeVar("T")

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(7200)]

SMALL: Final = LogConfig(segment_bytes=900, segment_index_bytes=240, index_interval_bytes=0)
HURT, HEALTHY = partition(topic="hurt"), partition(topic="healthy")
BASES: Final = (0, 1, 44, 2**31 - 1, 2**31, 2**63 - 2, 2**63 - 1, 2**63, 10**20 - 1)
NAMES: Final = ("x", "-1", "+1", "1", "0" * 19, "0" * 21, "٣" * 20)
EXTENSIONS: Final = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", "")
SUFFIXES: Final = ("", "", "", ".swap", ".cleaned", ".deleted", ".tmp")


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[Exception]:
    """Return the errors that kept logs from loading or closing."""
    heard: list[Exception] = []

    def listened(
        worker: Worker, tasks: Sequence[DirectoryTask[T]], *, threads: int
    ) -> list[T | Exception]:
        found = run_per_directory(worker, tasks, threads=threads)
        heard.extend(each for each in found if isinstance(each, Exception))
        return found

    for module in (log_startup, log_manager):
        monkeypatch.setattr(module, "run_per_directory", listened)
    return heard


def contents() -> Contents:
    """Return the files of a log directory after a clean stop, by their paths."""
    house = LogManagerHarness("/a", config=SMALL)
    owner = house.load()
    for name in (HURT, HEALTHY):
        log = log_creation.create(owner, name, topic_id=None)
        for each in interleaved():
            follow(log, each, epoch=1)
        filled(log, 10, epoch=3)
        log.delete_records(7)
    owner.close()
    files = house.files
    paths = [
        f"{path}/{name}"
        for path in ("/a", "/a/hurt-0", "/a/healthy-0")
        for name in files.list(path)
    ]
    return {path: contents_of(files, path) for path in paths if not files.stat(path).is_directory}


def contents_of(files: MemoryFiles, path: str) -> bytes:
    file = files.open(path)
    return file.pread(file.size, 0)


def damaged(chance: random.Random, whole: Contents) -> Contents:
    """Return the files, some of the hurt log's damaged; a path with / at its end is a directory."""
    found = dict(whole)
    for _ in range(chance.randint(1, 4)):
        path = chance.choice(
            [each for each in found if each.startswith("/a/hurt-0/")] or ["/a/hurt-0/x"]
        )
        chance.choice(DAMAGES)(chance, found, path)
    if chance.random() < 0.5:
        found.pop("/a/.kafka_cleanshutdown", None)
    if chance.random() < 0.2:
        known = {HURT: Offset(chance.choice(INTERESTING)), HEALTHY: Offset(7)}
        found[f"/a/{chance.choice(CHECKPOINTS)}"] = format_offset_checkpoint(known)
    return found


def _change(chance: random.Random, files: Contents, path: str) -> None:
    data = bytearray(files.get(path, b""))
    for _ in range(chance.randint(1, 3)):
        chance.choice(CHANGES)(chance, data)
    repair(chance, data)
    files[path] = bytes(data)


def _empty(_: random.Random, files: Contents, path: str) -> None:
    files[path] = b""


def _lose(_: random.Random, files: Contents, path: str) -> None:
    files.pop(path, None)


def _rename(chance: random.Random, files: Contents, path: str) -> None:
    files[_other_path(chance)] = files.pop(path, b"")


def _copy(chance: random.Random, files: Contents, path: str) -> None:
    files[_other_path(chance)] = files.get(path, b"")


def _replace(chance: random.Random, files: Contents, path: str) -> None:
    files[path] = files[chance.choice(list(files))]


def _put_directory(chance: random.Random, files: Contents, path: str) -> None:
    path = chance.choice((path, _other_path(chance)))
    files.pop(path, None)
    files[f"{path}/"] = b""


def _write_old_messages(chance: random.Random, files: Contents, path: str) -> None:
    files[path] = b"".join(bytes(message(chance.choice(BASES[:7]))) for _ in range(3))


def _other_path(chance: random.Random) -> str:
    base = chance.choice((*(f"{each:020}" for each in BASES), *NAMES))
    return f"/a/hurt-0/{base}{chance.choice(EXTENSIONS)}{chance.choice(SUFFIXES)}"


DAMAGES: tuple[Callable[[random.Random, Contents, str], None], ...] = (
    *(_change, _change, _change, _empty, _lose, _rename, _copy, _replace, _put_directory),
    _write_old_messages,
)


def house_of(found: Contents) -> LogManagerHarness:
    """Return a house whose files have these contents."""
    house = LogManagerHarness("/a", config=SMALL)
    for path in ("/a", "/a/hurt-0", "/a/healthy-0"):
        house.files.make_directory(path)
    for path, data in found.items():
        if path.endswith("/"):
            house.files.make_directory(path.rstrip("/"))
        elif f"{path}/" not in found:
            house.files.create(path).append(data)
    return house


def lived_through(found: Contents, errors: list[Exception]) -> str:
    """Load the directory, use its logs, load it again; return the state of the damaged one."""
    house = house_of(found)
    errors.clear()
    first = house.load()
    healthy = first.logs[HEALTHY]
    assert (healthy.bounds.log_start, healthy.bounds.log_end) == (7, 100)
    ended = used(first)
    end = first.logs[HURT].bounds.log_end if HURT in first.logs else None
    first.close()
    is_closed = not errors
    again = house.load()
    assert again.logs[HEALTHY].bounds.log_end == 100
    assert not is_closed or again.logs[HURT].bounds.log_end == end
    for error in errors:
        assert isinstance(error, (CordwoodError, OSError)), repr(error)
    return ended


def used(owner: LogManager) -> str:
    """Read the hurt log and append to it."""
    try:
        log = owner.get(HURT)
        assert log is not None
        with owner.using(log):
            read_through(log)
            lead(log, batch(2), epoch=9)
            log.flush()
    except CordwoodError as error:
        return type(error).__name__
    return "served"


def read_through(log: Log) -> None:
    offset: int = log.bounds.log_start
    while offset < log.bounds.log_end:
        spans = offsets(read(log, offset))
        if not spans or spans[-1][1] < offset:  # a clean shutdown is trusted, and batches go back
            return
        offset = spans[-1][1] + 1


def test_only_the_damaged_log_is_offline_with_any_content_in_its_directory(
    report: Report, errors: list[Exception]
) -> None:
    whole, ended = contents(), Counter[str]()

    for case in range(CASES // 100):
        found = damaged(random.Random(SEED * 1_000_003 + case), whole)
        try:
            ended[lived_through(found, errors)] += 1
        except BaseException as error:
            error.add_note(f"seed {SEED} case {case}")
            raise

    words = ", ".join(f"{name} {count}" for name, count in ended.most_common())
    report(f"log directories: {words}")
    assert ended["served"] > 0
    assert len(ended) >= 2

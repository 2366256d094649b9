"""A log is locked, loaded and closed as a broker does, and its directory is kept as it was."""

from contextlib import AbstractContextManager

import pytest

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import FileKind, Ports
from cordwood.storage.log.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.exclusive_log import (
    lock_directory,
    open_exclusively,
    partition_named_by,
)
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, lead

CLEAN_SHUTDOWN = ".kafka_cleanshutdown"


def closed(records: int = 5) -> LogHarness:
    place = LogHarness()
    log = place.open()
    lead(log, *(batch() for _ in range(records)))
    log.close()
    return place


def bounds(place: LogHarness) -> tuple[int, int, int, int]:
    """Return log start, high watermark, log end and recovery point."""
    with opened(place) as log:
        found = log.bounds
        return found.log_start, found.high_watermark, found.log_end, found.recovery_point


def opened(
    place: LogHarness,
    config: LogConfig = LogConfig(),  # noqa: B008 - a value that cannot change
) -> AbstractContextManager[Log]:
    ports = Ports(files=place.files, clock=place.clock, random=place.random)
    return open_exclusively(ports, DIRECTORY, config=config)


def test_log_has_the_bounds_of_the_checkpoints() -> None:
    place = closed()
    for name, offset in (("log-start-offset", 1), ("replication-offset", 3)):
        place.files.create(f"/d/{name}-checkpoint").append(b"0\n1\nt 0 %d\n" % offset)
    place.files.create(f"/d/{CLEAN_SHUTDOWN}")

    assert bounds(place) == (1, 3, 5, 5)
    assert CLEAN_SHUTDOWN in place.files.list("/d")


def test_log_of_a_copy_counts_as_replicated_and_is_recovered() -> None:
    place = closed()

    assert bounds(place) == (0, 5, 5, 0)


def test_deleted_files_are_removed_immediately() -> None:
    place = closed()

    with opened(place, LogConfig(retention_ms=0)) as log:
        log.roll()
        place.clock.advance(days=1)
        log.delete_old_segments()

    assert not place.names(".deleted")
    assert place.names(".log") == ["5.log"]


def test_lock_is_released_after_an_error() -> None:
    place = closed()

    with pytest.raises(ZeroDivisionError), opened(place) as log:
        log.bounds.log_end // 0

    place.files.lock("/d/.lock").release()


@pytest.mark.parametrize("segments", (1, 2))
def test_log_with_valid_batches_behind_damage_is_rejected_unchanged(segments: int) -> None:
    place = LogHarness()
    log = place.open()
    lead(log, batch(), batch())
    if segments == 2:
        log.roll()
    lead(log, batch())
    log.close()
    path = f"{DIRECTORY}/{place.files.list(DIRECTORY, FileKind.FILE)[1]}"
    assert path.endswith("000.log")
    file = place.files.open(path, writable=True)
    size = file.size
    damage = size - 1 if segments == 2 else 2 * size // 3 - 1
    damaged = bytearray(file.pread(size, 0))
    damaged[damage] ^= 1
    file.truncate(0)
    file.append(bytes(damaged))

    with pytest.raises(
        CorruptMessageError, match=f"{path}: a corrupt batch is followed by valid batches"
    ):
        opened(place).__enter__()

    assert place.files.open(path).pread(size, 0) == damaged
    place.files.lock("/d/.lock").release()


def test_torn_tail_is_truncated() -> None:
    place = closed(3)
    file = place.files.open(f"{DIRECTORY}/{0:020}.log", writable=True)
    file.truncate(file.size - 1)

    assert bounds(place) == (0, 2, 2, 0)


def test_directory_without_a_partition_name_is_rejected() -> None:
    with pytest.raises(LogDirectoryError, match=r"/d/copy: .* rename it to TOPIC-N"):
        partition_named_by("/d/copy")


def test_lock_is_held_inside_the_block() -> None:
    files = MemoryFiles()

    with lock_directory(files, ""), pytest.raises(BlockingIOError):
        files.lock("/.lock")

    files.lock("/.lock").release()


def test_directory_locked_by_a_broker_is_rejected() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.lock("/d/.lock")

    message = "/d: is in use by a broker; stop it cleanly first"
    with pytest.raises(LogDirectoryError, match=message), lock_directory(files, "/d"):
        pass

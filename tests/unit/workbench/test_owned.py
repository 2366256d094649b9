"""A log is opened and closed as a broker would, and its directory stays as it was."""

from contextlib import AbstractContextManager

import pytest

from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.ports import Kind
from cordwood.storage.log import Log
from cordwood.storage.log_config import LogConfig
from cordwood.workbench.owned import named_partition, owned
from tests.unit.storage.log_samples import DIRECTORY, Place, batch, lead

MARK = ".kafka_cleanshutdown"


def closed(records: int = 5) -> Place:
    place = Place()
    log = place.open()
    lead(log, *(batch() for _ in range(records)))
    log.close()
    return place


def bounds(place: Place) -> tuple[int, int, int, int]:
    """Return where the log starts, is replicated to, ends, and has to be recovered from."""
    with opened(place) as log:
        found = log.bounds
        return found.log_start, found.high_watermark, found.log_end, found.recovery_point


def opened(
    place: Place,
    config: LogConfig = LogConfig(),  # noqa: B008 - a value that cannot change
) -> AbstractContextManager[Log]:
    return owned(place.files, DIRECTORY, config=config, clock=place.clock, random=place.random)


def test_log_is_what_checkpoints_and_the_mark_say() -> None:
    place = closed()
    for name, offset in (("log-start-offset", 1), ("replication-offset", 3)):
        place.files.create(f"/d/{name}-checkpoint").append(b"0\n1\nt 0 %d\n" % offset)
    place.files.create(f"/d/{MARK}")

    assert bounds(place) == (1, 3, 5, 5)
    assert MARK in place.files.list("/d")


def test_log_of_a_copy_counts_as_replicated_and_is_recovered() -> None:
    place = closed()

    assert bounds(place) == (0, 5, 5, 0)


def test_files_are_removed_at_once() -> None:
    place = closed()

    with opened(place, LogConfig(retention_ms=0)) as log:
        log.roll()
        place.clock.advance(days=1)
        log.delete_old_segments()

    assert not place.names(".deleted")
    assert place.names(".log") == ["5.log"]


def test_log_is_let_go_when_the_work_fails() -> None:
    place = closed()

    with pytest.raises(ZeroDivisionError), opened(place) as log:
        log.bounds.log_end // 0

    place.files.lock("/d/.lock").release()


@pytest.mark.parametrize("segments", (1, 2))
def test_log_with_whole_batches_behind_damage_is_refused_as_it_is(segments: int) -> None:
    place = Place()
    log = place.open()
    lead(log, batch(), batch())
    if segments == 2:
        log.roll()
    lead(log, batch())
    log.close()
    path = f"{DIRECTORY}/{place.files.list(DIRECTORY, Kind.FILE)[1]}"
    assert path.endswith("000.log")
    file = place.files.open(path, writable=True)
    size = file.size
    damage = size - 1 if segments == 2 else 2 * size // 3 - 1
    damaged = bytearray(file.pread(size, 0))
    damaged[damage] ^= 1
    file.truncate(0)
    file.append(bytes(damaged))

    with pytest.raises(CorruptMessageError, match=f"{path}: damage, and whole batches behind it"):
        opened(place).__enter__()

    assert place.files.open(path).pread(size, 0) == damaged
    place.files.lock("/d/.lock").release()


def test_log_that_is_torn_at_its_end_is_cut_off_there() -> None:
    place = closed(3)
    file = place.files.open(f"{DIRECTORY}/{0:020}.log", writable=True)
    file.truncate(file.size - 1)

    assert bounds(place) == (0, 2, 2, 0)


def test_partition_is_refused_when_its_directory_does_not_name_it() -> None:
    with pytest.raises(LogDirectoryError, match=r"/d/copy: .* give it the name TOPIC-N"):
        named_partition("/d/copy")

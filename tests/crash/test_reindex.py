"""A stop at any write of `cordwood log reindex` leaves a directory that opens with the same log.

It has the same aborted transactions and the same producers, after a clean stop of the broker too.
"""

import errno
from collections.abc import Iterator
from contextlib import suppress
from random import Random

import pytest

from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN, read_clean_shutdown
from cordwood.testing.file_faults import FileFault, PowerLoss
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.reindex import reindex
from tests.damage.healthy_logs import HEALTHY
from tests.damage.kinds import DamagedLog
from tests.damage.outcomes import placed
from tests.unit.storage.log_samples import DIRECTORY, NOW, SMALL, LogHarness

SAMPLES = 3


def stopped_cleanly() -> tuple[MemoryFiles, int]:
    """Return the files of a transactional log after a clean stop, and the log end."""
    healthy = HEALTHY["transactional"]()
    files = placed(DamagedLog(dict(healthy.files), dict(healthy.beside), healthy.policy, {}))
    for folder in ("/", "/d", DIRECTORY):
        files.sync_directory(folder)
    for folder in ("/d", DIRECTORY):
        for name in files.list(folder):
            if name != "t-0":
                files.open(f"{folder}/{name}", writable=True).sync()
    return files, int(healthy.beside["recovery-point-offset-checkpoint"].split()[-1])


def served(files: MemoryFiles, end: int) -> object:
    """Open the log as a broker does; return its aborted transactions, producers and bounds."""
    place = LogHarness()
    place.files = files
    is_clean = read_clean_shutdown(files, "/d") is not None
    log = place.open(SMALL, is_clean=is_clean, recovery_point=end, high_watermark=end)
    aborted = [
        (each.producer_id, each.first_offset, each.last_offset)
        for segment in log.segments
        for each in segment.collect_aborted(0, end).aborted
    ]
    producers = {
        number: (entry.producer_epoch, entry.last_sequence)
        for number, entry in log.producers.producers.items()
    }
    return aborted, producers, log.bounds.last_stable, log.bounds.log_end


def crashes(files: MemoryFiles, chance: Random) -> Iterator[MemoryFiles]:
    """Yield what may be left: everything, or some of what was not on the medium, in any order."""
    count = len(files.pending())
    yield files.after_crash(tuple(range(count)))
    yield files.after_crash()
    for _ in range(SAMPLES):
        yield files.after_crash([index for index in range(count) if chance.random() < 0.5])


def test_log_is_the_same_after_a_stop_at_any_write() -> None:
    chance, is_over, writes = Random(1), False, 0
    right = served(*stopped_cleanly())

    while not is_over:
        files, end = stopped_cleanly()
        files.script.stop_after(writes)
        try:
            reindex(files, DIRECTORY, config=SMALL, now_ms=NOW)
            is_over = True
        except PowerLoss:
            writes += 1
        files.script.reset()
        for left in crashes(files, chance):
            assert served(left, end) == right, writes

    assert writes > 30


def test_log_is_the_same_after_a_full_disk_at_any_write() -> None:
    right, injected, first = served(*stopped_cleanly()), 1, 1

    while injected:
        files, end = stopped_cleanly()
        full = FileFault(on="[acp]*", path=f"{DIRECTORY}/*", first=first, code=errno.ENOSPC)
        armed = files.script.add(full)
        with suppress(OSError):
            reindex(files, DIRECTORY, config=SMALL, now_ms=NOW)
        files.script.reset()
        injected, first = armed.met, first + 1
        assert served(files, end) == right, first

    assert first > 20


def test_clean_shutdown_file_is_written_again() -> None:
    files, _ = stopped_cleanly()

    reindex(files, DIRECTORY, config=SMALL, now_ms=NOW)

    assert CLEAN_SHUTDOWN in files.list("/d")
    assert not any(name.endswith(".cleaned") for name in files.list(DIRECTORY))


def test_interrupted_rebuild_is_repeated() -> None:
    files, end = stopped_cleanly()
    right = served(*stopped_cleanly())
    files.script.stop_after(25)
    with pytest.raises(PowerLoss):
        reindex(files, DIRECTORY, config=SMALL, now_ms=NOW)
    files.script.reset()
    again = files.after_crash(tuple(range(len(files.pending()))))

    reindex(again, DIRECTORY, config=SMALL, now_ms=NOW)

    assert served(again, end) == right

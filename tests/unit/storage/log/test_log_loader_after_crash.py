"""A log is loaded after a crash, also in the middle of a cleaning."""

import random
from dataclasses import replace

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.types import Offset
from cordwood.storage.files.file_names import segment_name
from cordwood.storage.log.log import Log
from cordwood.testing.file_faults import PowerLoss
from tests.unit.storage.log_samples import (
    DIRECTORY,
    SMALL,
    LogHarness,
    batch,
    filled,
    follow,
    lead,
    offsets,
    produced,
    read,
)

FIVE = replace(SMALL, segment_bytes=5 * len(batch()))


def path(base_offset: int, ending: str = ".log") -> str:
    return f"{DIRECTORY}/{segment_name(Offset(base_offset), ending)}"


def unclean(harness: LogHarness, *, recovery_point: int = 0) -> Log:
    return harness.open(FIVE, is_clean=False, recovery_point=recovery_point)


def found(log: Log) -> list[int]:
    """Return the last offset of each batch that is read one after the other."""
    at, seen = int(log.bounds.log_start), list[int]()
    while more := offsets(read(log, at)):
        seen += [last for _, last in more]
        at = seen[-1] + 1
    return seen


# -- an interrupted cleaning


@pytest.mark.parametrize(
    ("left", "seen"),
    (
        ({".log": ".cleaned", ".index": ".cleaned"}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({".log": ".swap", ".index": ".cleaned"}, [0, 1, 2, 3, 4, 5, 6, 7]),
        ({".log": ".swap", ".index": ".swap", ".timeindex": ".swap"}, [1, 3, 5, 7]),
        ({".log": ".swap"}, [1, 3, 5, 7]),
        ({".timeindex": ".swap"}, [0, 1, 2, 3, 4, 5, 6, 7]),
    ),
)
def test_cleaning_is_finished_or_reverted(left: dict[str, str], seen: list[int]) -> None:
    """Segments 0, 2 and 4 are being replaced by one; 6 is active."""
    harness, other = LogHarness(), LogHarness()
    log = filled(harness.open(), 2)
    for _ in range(3):
        log.roll()
        filled(log, 2)
    log.close()
    clean = other.open()
    for offset in (1, 3, 5):
        follow(clean, batch(at=offset))
    clean.close()
    for ending, suffix in left.items():
        data = other.bytes_of(f"{0:020}{ending}")
        harness.files.create(f"{path(0, ending)}{suffix}").append(data)

    log = unclean(harness)

    assert found(log) == (seen if seen[0] == 0 else [1, 3, 5, 6, 7])
    assert not harness.names(".swap")
    assert not harness.names(".cleaned")


def test_swap_that_cannot_be_read_is_rejected_by_name() -> None:
    harness = LogHarness()
    filled(harness.open(), 2).close()
    harness.files.create(f"{path(0)}.swap").append(bytes(100))

    with pytest.raises(DamagedFileError, match=r"\.log\.swap: .* if the replaced segments still"):
        unclean(harness)


def test_damaged_epochs_are_rejected_by_name() -> None:
    harness = LogHarness()
    harness.open().close()
    harness.files.create(f"{DIRECTORY}/leader-epoch-checkpoint").append(b"rubbish")

    with pytest.raises(DamagedFileError, match="remove the file"):
        unclean(harness)


# -- any crash


@pytest.mark.parametrize("seed", range(8))
def test_flushed_records_survive_any_crash_and_gaps_are_reported(seed: int) -> None:
    chance = random.Random(seed)
    harness = LogHarness()
    log, safe = harness.open(FIVE), list[int]()
    for _ in range(12):
        harness.files.script.stop_after(chance.randrange(60))
        safe = appended_until_power_is_lost(log, chance) or safe
        pending = range(len(harness.files.pending()))
        harness.files.crash([number for number in pending if chance.random() < 0.5])
        log = unclean(harness, recovery_point=len(safe))
        seen = found(log)

        assert seen[: len(safe)] == safe
        assert log.bounds.recovery_point == len(safe)
        if seen != list(range(log.bounds.log_end)):
            assert "no records" in str(log.report)
            return


def appended_until_power_is_lost(log: Log, chance: random.Random) -> list[int]:
    """Append and flush until the power is lost; return the durable offsets."""
    safe: list[int] = []
    try:
        while True:
            lead(log, produced(0, producer=(chance.randrange(5), 0)), batch())
            if chance.random() < 0.3:
                log.flush()
                safe = list(range(log.bounds.log_end))
    except PowerLoss:
        return safe

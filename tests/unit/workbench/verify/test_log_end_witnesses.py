"""Snapshots, epochs and index entries beyond the end of a log."""

import struct

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.verify.findings import Severity
from cordwood.workbench.verify.log_end_witnesses import (
    LogEndWitnesses,
    check_log_end,
    find_lost_tail,
)
from tests.unit.storage.log_samples import DIRECTORY, NOW, SMALL, LogHarness, batch, lead

EPOCHS = [EpochEntry(LeaderEpoch(0), Offset(0)), EpochEntry(LeaderEpoch(3), Offset(20))]


def severities(end: int, unsynced_from: int | None = None) -> list[Severity]:
    witnesses = LogEndWitnesses(EPOCHS, (10, 20), unsynced_from)
    return [each.severity for each in check_log_end("/d", witnesses, log_end=end)]


def test_offset_at_the_end_is_right() -> None:
    assert severities(20) == []


def test_epoch_and_snapshot_beyond_the_end_are_damage() -> None:
    assert severities(19) == [Severity.DAMAGE, Severity.DAMAGE]


@pytest.mark.parametrize(
    ("unsynced_from", "severity"), ((15, Severity.NOTE), (20, Severity.DAMAGE))
)
def test_records_that_were_not_fsynced_may_be_lost(unsynced_from: int, severity: Severity) -> None:
    assert set(severities(19, unsynced_from)) == {severity}


def test_finding_names_the_file_and_the_lost_offsets() -> None:
    (found,) = check_log_end("/d", LogEndWitnesses((), (30,)), log_end=19)

    assert found.path == f"/d/{30:020}.snapshot"
    assert (found.first_offset, found.end_offset) == (19, 30)


def cut_log(*, keeps: int, batches: int = 9) -> MemoryFiles:
    """Return a closed log of single records with an entry for each, whose file was cut."""
    place = LogHarness()
    log = place.open(SMALL)
    for number in range(batches):
        lead(log, batch(timestamp=NOW + number))
    log.close()
    for name in [name for name in place.files.list(DIRECTORY) if name.endswith(".snapshot")]:
        place.files.remove(f"{DIRECTORY}/{name}")
    place.files.open(f"{DIRECTORY}/{0:020}.log", writable=True).truncate(keeps * len(batch()))
    return place.files


def shown(files: MemoryFiles, log_end: int) -> dict[str, int | None]:
    """Return the end that each index shows."""
    found = find_lost_tail(files, DIRECTORY, log_end=log_end)
    return {each.path.rpartition(".")[2]: each.end_offset for each in found}


@pytest.mark.parametrize("keeps", (0, 1, 8))
def test_entries_of_the_active_segments_indexes_show_a_lost_tail(keeps: int) -> None:
    assert shown(cut_log(keeps=keeps), keeps) == {"index": 9, "timeindex": 9}


@pytest.mark.parametrize(("keeps", "rest"), ((0, 0), (1, 0), (8, 0), (4, 20), (4, 61)))
def test_zeros_at_the_end_of_a_log_are_no_data(keeps: int, rest: int) -> None:
    files = cut_log(keeps=9)
    path, at = f"{DIRECTORY}/{0:020}.log", keeps * len(batch()) + rest
    files.open(path, writable=True).pwrite(bytes(9 * len(batch()) - at), at)

    assert shown(files, keeps) == {"index": 9, "timeindex": 9}


def test_zeros_behind_a_whole_log_show_nothing() -> None:
    files = cut_log(keeps=9)
    files.open(f"{DIRECTORY}/{0:020}.log", writable=True).append(bytes(1 << 17))

    assert shown(files, 9) == {}


def test_indexes_of_a_whole_log_show_nothing() -> None:
    assert shown(cut_log(keeps=9), 9) == {}


def test_indexes_without_their_log_show_a_lost_tail() -> None:
    files = cut_log(keeps=9)
    for ending in ("index", "timeindex"):
        data = files.open(f"{DIRECTORY}/{0:020}.{ending}").pread(999, 0)
        files.create(f"{DIRECTORY}/{9:020}.{ending}").append(data)

    assert shown(files, 9) == {"index": 18, "timeindex": 18}
    files.create(f"{DIRECTORY}/{18:020}.log").append(batch())
    assert shown(files, 9) == {"index": 18, "timeindex": 18}


@pytest.mark.parametrize(
    ("ending", "at", "entry"),
    (
        ("index", 64, struct.pack(">ii", 99, 8 * len(batch()))),
        ("index", 64, struct.pack(">ii", 8, 1 << 30)),
        ("index", 64, struct.pack(">ii", 99, 0)),
        ("index", 0, b"x" * 1200),
        ("timeindex", 0, b"x" * 1200),
        ("timeindex", 96, struct.pack(">qi", NOW + 8, 99)),
        ("timeindex", 96, struct.pack(">qi", 1 << 50, 8)),
        ("index", 0, bytes(1200)),
        ("timeindex", 0, bytes(1200)),
    ),
)
def test_damaged_entries_show_nothing(ending: str, at: int, entry: bytes) -> None:
    files = cut_log(keeps=9)
    path = f"{DIRECTORY}/{0:020}.{ending}"
    files.open(path, writable=True).pwrite(entry, at)

    assert shown(files, 9) == {}


def test_preallocated_indexes_of_an_empty_segment_show_nothing() -> None:
    files = cut_log(keeps=9)
    for ending in ("log", "index", "timeindex"):
        files.create(f"{DIRECTORY}/{9:020}.{ending}").append(b"" if ending == "log" else bytes(600))

    assert shown(files, 9) == {}

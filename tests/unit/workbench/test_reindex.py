"""Indexes and snapshots are rebuilt, and no log is written."""

import pytest

from cordwood.core.binary import crc32c
from cordwood.core.errors import CorruptMessageError, DamagedFileError, LogDirectoryError
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.files.atomic_write import directory_of
from cordwood.storage.files.header_scan import headers
from cordwood.storage.log_config import LogConfig
from cordwood.storage.producers.producer_snapshot import decode_snapshot, encode_snapshot
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.testing.memory_files import MemoryFileLock, MemoryFiles
from cordwood.workbench.reindex import LostOffsets, ReindexReport, reindex
from tests.unit.storage.log_samples import (
    DIRECTORY,
    LogHarness,
    filled,
    follow,
    interleaved,
    lead,
    marker,
    produced,
)
from tests.unit.storage.reader_samples import THREES, directory, got, harm, name, put
from tests.unit.storage.segment_samples import v2

ENDINGS = ("index", "timeindex", "snapshot")


def closed(config: LogConfig = THREES) -> LogHarness:
    """Return a cleanly closed log of ten records."""
    place = LogHarness()
    log = filled(place.open(config), 10)
    log.close()
    return place


def run(files: MemoryFiles, config: LogConfig = THREES) -> ReindexReport:
    return reindex(files, DIRECTORY, config=config, now_ms=0)


def contents(place: LogHarness, *endings: str) -> dict[str, bytes]:
    names = [each for each in place.files.list(DIRECTORY) if each.endswith(endings or ("",))]
    return {each: got(place.files, each) for each in names}


def test_rebuilt_indexes_equal_the_originals() -> None:
    place = closed()
    before = contents(place, "index")

    report = run(place.files)

    assert contents(place, "index") == before
    assert (report.segments, report.batches, report.log_end) == (4, 10, 10)
    assert report.snapshots == (3, 6, 9, 10)


def test_damaged_indexes_and_snapshots_are_rebuilt_and_logs_are_unchanged() -> None:
    place = closed()
    logs, right = contents(place, ".log"), contents(place, "index")
    harm(place.files, name(3, ".index"), 0)
    put(place.files, name(6, ".timeindex"), b"\1" * 7)
    harm(place.files, name(10, ".snapshot"), 3)
    place.files.remove(f"{DIRECTORY}/{name(0, '.index')}")

    run(place.files)

    assert contents(place, "index") == right
    assert contents(place, ".log") == logs
    assert not place.open(THREES).report.is_noteworthy


def test_transaction_index_is_rebuilt() -> None:
    place = LogHarness()
    log = place.open()
    follow(log, *interleaved())
    log.close()
    right = place.aborted()

    place.files.remove(f"{DIRECTORY}/{name(0, '.txnindex')}")
    run(place.files)

    assert right
    assert place.aborted() == right


def test_producer_snapshots_are_rebuilt() -> None:
    place = LogHarness()
    log = place.open()
    lead(log, produced(0, 2), produced(2, 3, producer=(4, 1)))
    log.close()
    before = contents(place, ".snapshot")

    run(place.files)

    assert contents(place, ".snapshot") == before


def retained() -> LogHarness:
    """Return a log whose first segment, with all batches of producer 7, retention has deleted."""
    place = LogHarness()
    log = place.open(THREES)
    for number in range(2):
        lead(log, produced(number, producer=(7, 0)))
    filled(log, 8)
    log.close()
    for ending in (".log", ".index", ".timeindex"):
        place.files.remove(f"{DIRECTORY}/{name(0, ending)}")
    return place


def test_producers_of_deleted_segments_stay_in_all_snapshots() -> None:
    place = retained()
    before = contents(place, "snapshot")

    run(place.files)

    assert contents(place, "snapshot") == before
    assert all(len(each) > len(encode_snapshot([])) for each in before.values())


def test_transaction_of_the_first_snapshot_is_forgotten_if_its_marker_may_be_gone() -> None:
    place = LogHarness()
    log = place.open(THREES)
    lead(log, produced(0, producer=(7, 0), is_transactional=True))
    filled(log, 2)
    lead(log, marker(producer=(7, 0), is_commit=True), origin=AppendOrigin.COORDINATOR)
    filled(log, 6)
    log.close()
    for ending in (".log", ".index", ".timeindex"):
        place.files.remove(f"{DIRECTORY}/{name(0, ending)}")
    before = open_transactions(place)
    cleaned = place.bytes_of(name(3))[len(marker(is_commit=True)) :]
    put(place.files, name(3), cleaned)

    run(place.files)

    assert before == {3: [7], 6: [], 9: [], 10: []}
    assert open_transactions(place) == before


def open_transactions(place: LogHarness) -> dict[int, list[int]]:
    """Return the producers with an open transaction, by the offset of the snapshot."""
    return {
        int(each[:20]): [
            state.producer_id for state in decode_snapshot(data, path=each) if state.has_transaction
        ]
        for each, data in contents(place, "snapshot").items()
    }


@pytest.mark.parametrize("snapshot", (None, encode_snapshot([])), ids=("ended", "expired"))
def test_log_without_the_end_of_a_transaction_that_a_snapshot_has_is_rejected(
    snapshot: bytes | None,
) -> None:
    """A cleaner's checkpoint explains the missing offsets, and no cleaner removes that marker."""
    place = LogHarness()
    log = place.open(THREES)
    for number in range(3):
        lead(log, produced(number, producer=(7, 0), is_transactional=True))
    lead(log, marker(producer=(7, 0), is_commit=True), origin=AppendOrigin.COORDINATOR)
    filled(log, 5)
    log.close()
    for ending in (".log", ".index", ".timeindex"):
        place.files.remove(f"{DIRECTORY}/{name(3, ending)}")
    put_beside(place, "cleaner-offset-checkpoint", 6)
    if snapshot is not None:
        put(place.files, name(6, ".snapshot"), snapshot)
    before = contents(place)

    with pytest.raises(DamagedFileError, match=r"producer 7 from offset 0 on has ended.*salvage"):
        run(place.files)

    assert contents(place) == before
    assert open_transactions(place)[6] == []


def test_damaged_snapshot_at_the_log_start_is_reported() -> None:
    place = retained()
    harm(place.files, name(3, ".snapshot"), 3)

    report = run(place.files)

    assert len(report.warnings) == 1
    assert report.warnings[0].startswith("removed: ")
    assert name(3, ".snapshot") not in place.files.list(DIRECTORY)


def test_snapshots_of_a_compacted_log_are_at_the_bases_of_segments() -> None:
    files = directory(log=v2(0, 3), log_7=v2(9, 11))

    assert run(files).snapshots == (7, 12)


def test_damaged_leader_epochs_are_rebuilt_from_the_log() -> None:
    place = closed()
    right = contents(place, "leader-epoch-checkpoint")
    put(place.files, "leader-epoch-checkpoint", b"x")

    (warning,) = run(place.files).warnings

    assert warning.startswith("rebuilt: ")
    assert contents(place, "leader-epoch-checkpoint") == right


@pytest.mark.parametrize(
    "data",
    (b"\xee" * 9, b"\0" * 4096),
    ids=("torn", "preallocated"),
)
def test_damaged_log_is_rejected_unchanged(data: bytes) -> None:
    place = closed()
    last = name(9)
    put(place.files, last, got(place.files, last) + data)
    before = contents(place)

    with pytest.raises(CorruptMessageError, match="cordwood log salvage"):
        run(place.files)

    assert contents(place) == before


def test_log_with_a_wrong_bit_is_rejected() -> None:
    place = closed()
    harm(place.files, name(3), 70, bytes((got(place.files, name(3))[70] ^ 1,)))

    with pytest.raises(CorruptMessageError, match="wrong checksum or size"):
        run(place.files)


def test_log_with_a_marker_of_unknown_type_is_rejected_unchanged() -> None:
    place = LogHarness()
    log = place.open()
    follow(log, *interleaved())
    log.close()
    data = bytearray(got(place.files, name(0)))
    found = headers(lambda size, at: bytes(data[at : at + size]), 0, len(data))
    start = next(each.position for each in found if each.is_control)
    data[data.index(b"\x08\0\0\0", start + 61) + 4] = 9
    end = start + 12 + int.from_bytes(data[start + 8 : start + 12])
    data[start + 17 : start + 21] = crc32c(data[start + 21 : end]).to_bytes(4)
    put(place.files, name(0), bytes(data))

    with pytest.raises(CorruptMessageError, match="does not end a transaction"):
        run(place.files)

    assert got(place.files, name(0)) == data


@pytest.mark.parametrize(("base", "offset"), ((3, 1), (3, 6)))
def test_log_with_offsets_out_of_order_is_rejected(base: int, offset: int) -> None:
    place = closed()
    harm(place.files, name(base), 0, offset.to_bytes(8))

    with pytest.raises(CorruptMessageError, match="out of order"):
        run(place.files)


def test_directory_in_use_is_rejected() -> None:
    place = closed()
    lock = place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="is in use"):
        run(place.files)
    lock.release()

    assert run(place.files).log_end == 10


@pytest.mark.parametrize("extra", (".log.swap", ".index.swap", ".log.cleaned"))
def test_directory_with_an_unfinished_swap_is_rejected(extra: str) -> None:
    place = closed()
    put(place.files, name(0, extra), b"")

    with pytest.raises(LogDirectoryError, match="unfinished compaction"):
        run(place.files)


def test_path_that_is_not_a_partition_is_rejected() -> None:
    place = LogHarness()

    with pytest.raises(LogDirectoryError, match="not a directory"):
        run(place.files)
    place.files.make_directory(DIRECTORY)
    with pytest.raises(LogDirectoryError, match="no segment"):
        run(place.files)


def test_report_reads_as_json() -> None:
    assert '"log_end": 10' in run(closed().files).to_json()


def test_offsets_that_no_cleaner_has_removed_are_lost() -> None:
    place = closed()
    place.files.remove(f"{DIRECTORY}/{name(3, '.log')}")

    report = run(place.files)

    assert report.lost == (LostOffsets(3, 6),)
    assert (report.segments, report.log_end) == (3, 10)


def test_offsets_below_the_cleaner_s_checkpoint_are_not_lost() -> None:
    place = closed()
    place.files.remove(f"{DIRECTORY}/{name(3, '.log')}")
    put_beside(place, "cleaner-offset-checkpoint", 6)

    assert run(place.files).lost == ()


def test_offsets_below_the_log_start_are_not_lost() -> None:
    place = closed()
    place.files.remove(f"{DIRECTORY}/{name(3, '.log')}")
    put_beside(place, "log-start-offset-checkpoint", 6)

    assert run(place.files).lost == ()


@pytest.mark.parametrize("witness", (name(10, ".snapshot"), "leader-epoch-checkpoint"))
def test_tail_that_a_file_next_to_the_log_shows_is_lost(witness: str) -> None:
    place = closed()
    files = [name(9, each) for each in (".log", ".index", ".timeindex")]
    others = {name(10, ".snapshot"), "leader-epoch-checkpoint"} - {witness}
    for each in (*files, *others):
        place.files.remove(f"{DIRECTORY}/{each}")
    put(place.files, witness, b"0\n1\n0 10\n")

    assert run(place.files).lost == (LostOffsets(9, 10),)


def test_tail_that_was_not_fsynced_is_a_warning() -> None:
    place = closed()
    for each in (".log", ".index", ".timeindex"):
        place.files.remove(f"{DIRECTORY}/{name(9, each)}")
    put_beside(place, "recovery-point-offset-checkpoint", 3)

    report = run(place.files)

    assert report.lost == ()
    assert "lost its tail (offset 9)" in report.warnings[0]


def test_damaged_checkpoint_is_reported_and_not_used() -> None:
    place = closed()
    place.files.create(f"{directory_of(DIRECTORY)}/cleaner-offset-checkpoint").append(b"x")

    assert [each[:9] for each in run(place.files).warnings] == ["not used:"]


def put_beside(place: LogHarness, checkpoint: str, offset: int) -> None:
    """Write a checkpoint of the log directory with this partition's offset."""
    partition = partition_of(DIRECTORY)
    assert partition is not None
    text = f"0\n1\n{partition.topic} {partition.partition} {offset}\n"
    place.files.create(f"{directory_of(DIRECTORY)}/{checkpoint}").append(text.encode())


class RolledBeforeTheLock(MemoryFiles):
    """Files of a broker that rolls its log, and stops, before the lock is taken."""

    def lock(self, path: str) -> MemoryFileLock:
        if name(3) not in self.list(DIRECTORY):
            self.create(f"{DIRECTORY}/{name(3)}").append(v2(3, 5))
        return super().lock(path)


def test_segment_that_was_rolled_before_the_lock_is_reindexed() -> None:
    files = RolledBeforeTheLock()
    files.make_directory("/d")
    files.make_directory(DIRECTORY)
    files.create(f"{DIRECTORY}/{name(0)}").append(v2(0, 2))

    report = run(files)

    assert (report.segments, report.log_end) == (2, 6)
    assert name(3, ".index") in files.list(DIRECTORY)

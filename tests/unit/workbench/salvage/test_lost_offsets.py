"""Missing offsets below and above the log start, and the places of rebuilt markers."""

import struct

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.salvage.batch_run import TransactionEvent
from cordwood.workbench.salvage.lost_offsets import SalvageLosses
from cordwood.workbench.salvage.salvage import salvage
from cordwood.workbench.salvage.salvage_report import MISSING, ReportedOffsets, SalvageReport
from cordwood.workbench.salvage.transaction_ends import RebuiltMarker
from tests.unit.workbench.salvage_samples import (
    SOURCE,
    batch,
    broken,
    directory,
    entries,
    harmed,
    marker,
    ports,
    transactional,
)


def log_of(*segments: bytes, log_start: int = 0, **beside: bytes) -> MemoryFiles:
    """Return a partition with segments of four offsets, and its transaction indexes."""
    contents = {f"{4 * at:020}.log": data for at, data in enumerate(segments)}
    contents |= {f"{int(name[1:]):020}.txnindex": data for name, data in beside.items()}
    start = b"0\n1\nt 0 %d\n" % log_start
    return directory(contents, beside={"log-start-offset-checkpoint": start})


def lost(report: SalvageReport) -> list[tuple[int, int | None]]:
    return [each[:2] for each in report.lost]


def test_lost_offsets_below_the_log_start_are_not_reported() -> None:
    reports = [
        salvage(ports(log_of(batch(0), batch(6, 2), log_start=start)), SOURCE, out="/out")
        for start in (0, 5, 6)
    ]

    assert list(map(lost, reports)) == [[(4, 5)], [(5, 5)], []]


def test_only_batch_of_a_file_at_another_file_s_offsets_is_put_into_its_own() -> None:
    """The file has room for eight offsets, so it does not show where they were."""
    wrong = harmed(batch(0, value=b"other"), 7, mask=8)
    contents = {f"{at:020}.log": data for at, data in ((0, wrong), (8, batch(8)), (12, batch(12)))}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert (report.log_start, report.log_end, report.batches) == (0, 16, 3)
    assert [each[:2] for each in report.doubtful] == [(0, 3)]
    assert lost(report) == [(4, 7)]


def test_batch_at_another_file_s_offsets_is_put_before_a_damaged_one_of_its_own() -> None:
    wrong = harmed(batch(4, value=b"other"), 7, mask=4) + harmed(batch(8), 61, 62)
    contents = {f"{at:020}.log": data for at, data in ((0, batch(0)), (4, wrong), (12, batch(12)))}

    report = salvage(ports(directory(contents)), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(4, 7), (9, 11)]
    assert lost(report) == [(8, 8)]


def test_batch_of_another_file_s_offsets_is_left_out_next_to_a_copy() -> None:
    """A copy shows that the file is one of other offsets."""
    data = transactional(8, 4) + batch(12)
    contents = {0: data, 8: batch(8) + batch(12), 16: batch(16)}
    files = directory({f"{at:020}.log": each for at, each in contents.items()})

    report = salvage(ports(files), SOURCE, out="/out")

    assert (report.batches, report.doubtful) == (3, ())


def test_tail_that_is_only_zeros_is_lost_if_an_index_shows_it() -> None:
    files = log_of(batch(0) + bytes(2 * len(batch())))
    files.create(f"{SOURCE}/{0:020}.index").append(struct.pack(">ii", 11, 2 * len(batch())))

    report = salvage(ports(files), SOURCE, out="/out")

    assert lost(report) == [(4, 11), (12, None)]


def test_marker_below_the_log_start_is_rebuilt_where_the_index_has_it() -> None:
    """Without it, the transaction's end would be looked for among the offsets behind it."""
    second = transactional(8) + broken(batch(9)) + transactional(13) + marker(14, is_commit=False)
    first = transactional(0, 4), broken(marker(4, is_commit=False)) + batch(5, 3)
    files = log_of(*first, second, log_start=6, n4=entries((7, 0, 4)), n8=entries((7, 13, 14)))

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.mended] == [(4, 4), (12, 12)]
    assert report.notes == ()


def test_marker_that_a_search_has_found_may_stand_at_the_offset_of_a_record() -> None:
    """Its base offset joins that of no neighbour, so it may be wrong."""
    damaged = b"\7" * len(transactional(4, 4))
    files = log_of(batch(0) + damaged + marker(6))

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(6, 6)]
    assert lost(report) == [(4, 5), (6, 6)]


def test_abort_is_not_hidden_by_a_batch_that_is_rebuilt_from_a_value() -> None:
    """The batch in the value is torn with the record around it, and has the marker's offset."""
    builder = BatchBuilder(BatchFields(base_offset=4, partition_leader_epoch=0))
    for value in (b"value", batch(3, 1) + batch(6, 3)):
        builder.append(b"key", value, timestamp=1000)
    torn = bytes(builder.build())[:-20]
    files = log_of(transactional(0, 4) + torn, _0=entries((7, 0, 6)))

    report = salvage(ports(files), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(0, 3), (4, 4), (6, 6)]


def test_place_of_a_rebuilt_marker_is_lost_unless_it_is_certain() -> None:
    event = TransactionEvent(0, 1, 7, 0, 0, 0)
    missing = SalvageLosses([ReportedOffsets(2, 9, MISSING)], log_start=3)
    markers = [
        RebuiltMarker(5, is_commit=True, event=event, why=""),
        RebuiltMarker(7, is_commit=True, event=event, why="", is_placed=False),
    ]

    assert [each[:2] for each in missing.reported(markers)] == [(3, 4), (6, 9)]


def test_index_with_an_abort_of_a_damaged_commit_marker_is_not_used() -> None:
    """The offset of the marker is damaged too, so any lost offset may be its own."""
    data = transactional(0, 4) + b"\1" * 26 + marker(4)[26:]
    indexed = log_of(data, i0=entries((7, 0, 4)))

    report = salvage(ports(indexed), SOURCE, out="/out")

    assert [each[:2] for each in report.doubtful] == [(0, 3)]
    assert [each.why for each in report.mended] == []
    assert "is that of a commit" in report.notes[0]


def test_index_with_an_abort_behind_a_damaged_commit_marker_is_used() -> None:
    """The header of the commit is whole, so it has its own offset."""
    data = transactional(0, 4) + harmed(marker(4), 20, 30) + b"\1" * 150 + batch(7)

    notes = [
        salvage(ports(log_of(data, i0=entries((7, 5, last)))), SOURCE, out="/out").notes
        for last in (5, 6)
    ]
    wrong = salvage(ports(log_of(data, i0=entries((7, 0, 4)))), SOURCE, out="/out").notes

    assert [any("is that of a commit" in each for each in found) for found in notes] == [False] * 2
    assert "is that of a commit" in wrong[0]


def test_false_entry_for_damaged_data_does_not_abort_a_transaction() -> None:
    """The header of the damaged batch is whole: it is not a marker."""
    damaged = harmed(transactional(2, 2), *range(61, 89))
    files = log_of(transactional(0, 2) + damaged, marker(4), _0=entries((7, 0, 3)))

    report = salvage(ports(files), SOURCE, out="/out")

    assert "the damaged batch at offset 3 is not a marker" in "".join(report.notes)
    assert "rebuilt" not in "".join(each.why for each in report.mended)


def test_marker_with_damaged_attributes_is_not_read_as_data() -> None:
    damaged = harmed(marker(2, is_commit=False), *range(21, 57))
    files = log_of(transactional(0, 2) + damaged + batch(3, 1), batch(4), _0=entries((7, 0, 2)))

    report = salvage(ports(files), SOURCE, out="/out")

    assert report.doubtful == ()
    assert ["abort marker" in each.why for each in report.mended] == [True]


def test_false_entry_for_damaged_data_before_a_damaged_marker_aborts_nothing() -> None:
    """The size of the damaged data leads to the damaged marker, and not to a whole batch."""
    damaged = harmed(transactional(1, 2), *range(61, 89)) + b"\7" * 78
    contents = transactional(0) + damaged + batch(4)
    files = log_of(contents, _0=entries((7, 0, 2)))

    report = salvage(ports(files), SOURCE, out="/out")

    assert "the damaged batch at offset 2 is not a marker" in "".join(report.notes)


def test_index_of_a_cleaner_shows_no_loss_next_to_the_renamed_log() -> None:
    beside = {"cleaner-offset-checkpoint": b"0\n1\nt 0 8\n"}
    left = {f"{0:020}.index.swap": b"", f"{0:020}.timeindex.swap": b""}
    files = directory({f"{at:020}.log": batch(at) for at in (0, 8)} | left, beside=beside)

    assert salvage(ports(files), SOURCE, out="/out").is_whole

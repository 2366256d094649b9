"""Content of the offsets of a log."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.spark.jobs.tables.log_offsets import SplitOffsets, find_offsets, spans_of
from cordwood.spark.jobs.tables.offset_comparison import OffsetKind
from cordwood.spark.jobs.tables.offset_spans import OffsetSpan, unpack_spans
from cordwood.spark.source.source_options import SourceOptions
from tests.unit.spark.jobs.export_samples import split, write_log
from tests.unit.storage.segment_samples import marker, message, produced, v2

COMMITTED = SourceOptions(is_committed=True)


@pytest.mark.parametrize(
    ("offsets", "runs"),
    (
        ([], []),
        ([7], [OffsetSpan(7, 8)]),
        ([0, 1, 2, 5, 6], [OffsetSpan(0, 3), OffsetSpan(5, 7)]),
        ([6, 0, 2, 1, 5], [OffsetSpan(0, 3), OffsetSpan(5, 7)]),
        ([0, 1, 1, 2], [OffsetSpan(0, 2), OffsetSpan(1, 3)]),
    ),
)
def test_offsets_become_spans(offsets: list[int], runs: list[OffsetSpan]) -> None:
    assert spans_of(pa.array(offsets, pa.int64())) == runs


def _found(
    tmp_path: Path, end: int, *batches: bytes, options: SourceOptions = COMMITTED
) -> SplitOffsets:
    logs = write_log(tmp_path, *batches)
    return find_offsets(split(logs, 0, end), lambda _: None, options=options)


def _kinds(found: SplitOffsets) -> dict[OffsetKind, list[tuple[int, int]]]:
    return {
        kind: [(run.start, run.end) for run in unpack_spans(data)]
        for kind, data in found.spans.items()
    }


def test_records_follow_each_other_over_batches(tmp_path: Path) -> None:
    assert _kinds(_found(tmp_path, 8, v2(0, 4), v2(5, 7))) == {OffsetKind.RECORD: [(0, 8)]}


def test_aborted_records_and_markers_are_distinguished(tmp_path: Path) -> None:
    aborted = produced(0, 2, producer_id=1) + marker(3, producer_id=1, is_commit=False)
    committed = produced(4, 5, producer_id=2) + marker(6, producer_id=2, is_commit=True)

    assert _kinds(_found(tmp_path, 7, aborted, committed)) == {
        OffsetKind.ABORTED: [(0, 3)],
        OffsetKind.MARKER: [(3, 4), (6, 7)],
        OffsetKind.RECORD: [(4, 6)],
    }


def test_aborted_records_are_records_under_read_uncommitted(tmp_path: Path) -> None:
    aborted = produced(0, 2, producer_id=1) + marker(3, producer_id=1, is_commit=False)
    options = replace(COMMITTED, is_committed=False)

    assert _kinds(_found(tmp_path, 4, aborted, options=options)) == {
        OffsetKind.RECORD: [(0, 3)],
        OffsetKind.MARKER: [(3, 4)],
    }


def test_offsets_between_batches_are_gaps(tmp_path: Path) -> None:
    found = _found(tmp_path, 9, v2(2, 3), v2(6, 7), v2(9))

    assert _kinds(found)[OffsetKind.GAP] == [(0, 2), (4, 6), (8, 9)]
    assert found.cleaned_to == 0


def test_offsets_inside_of_a_batch_are_compacted(tmp_path: Path) -> None:
    found = _found(tmp_path, 8, v2(0, 2), _thinned(3, 7))

    assert _kinds(found) == {OffsetKind.RECORD: [(0, 4)], OffsetKind.COMPACTED: [(4, 8)]}
    assert found.cleaned_to == 8


def _thinned(first: int, last: int) -> bytes:
    """Return a batch of which compaction has kept the first record."""
    builder = BatchBuilder(BatchFields(base_offset=first))
    builder.append(b"k", b"v", timestamp=1000)
    return bytes(builder.build(last_offset=last))


def test_old_formats_have_no_gap_before_a_wrapper(tmp_path: Path) -> None:
    found = _found(tmp_path, 2, message(0), message(1))

    assert _kinds(found) == {OffsetKind.RECORD: [(0, 2)]}

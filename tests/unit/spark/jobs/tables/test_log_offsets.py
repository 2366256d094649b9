"""Content of the offsets of a log."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.spark.jobs.tables.log_offsets import SplitOffsets, find_offsets, offset_values
from cordwood.spark.jobs.tables.offset_comparison import OffsetKind
from cordwood.spark.jobs.tables.offset_spans import unpack_spans
from cordwood.spark.source.source_options import SourceOptions
from tests.unit.spark.jobs.export_samples import split, write_log
from tests.unit.storage.segment_samples import marker, message, produced, v2

COMMITTED = SourceOptions(is_committed=True)


@pytest.mark.parametrize("first", (0, 1))
def test_numbers_of_a_column_are_those_of_its_part(first: int) -> None:
    assert offset_values(pa.array([7, 9, 8], pa.int64())[first:]).tolist() == [7, 9, 8][first:]


def _found(
    tmp_path: Path, end: int, *batches: bytes, options: SourceOptions = COMMITTED
) -> SplitOffsets:
    logs = write_log(tmp_path, *batches)
    return find_offsets(split(logs, 0, end), lambda _: None, options=options)


def _kinds(found: SplitOffsets) -> dict[OffsetKind, list[tuple[int, int]]]:
    return {kind: unpack_spans(data).pairs() for kind, data in found.spans.items()}


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

    assert _kinds(found) == {OffsetKind.RECORD: [(0, 4)]}
    assert (found.rest, found.cleaned_to) == (OffsetKind.COMPACTED, 8)


def _thinned(first: int, last: int) -> bytes:
    """Return a batch of which compaction has kept the first record."""
    builder = BatchBuilder(BatchFields(base_offset=first))
    builder.append(b"k", b"v", timestamp=1000)
    return bytes(builder.build(last_offset=last))


def test_old_formats_have_no_gap_before_a_wrapper(tmp_path: Path) -> None:
    found = _found(tmp_path, 2, message(0), message(1))

    assert _kinds(found) == {OffsetKind.RECORD: [(0, 2)]}

"""Record counts of a split from batch headers; ranges without a usable count must be read.

A batch header has the number of records that the batch still holds. Exceptions:

    control batches, and aborted ones under read_committed    not counted, by their headers
    a batch that is only partly in the split                  must be read
    formats v0 and v1, whose headers have no count            must be read
    offsets that the log has lost since planning              must be read: the gap policy applies

Checksums are not verified here, only where records are read.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files
from cordwood.records.batch_checks import BatchChecker, BatchSurvey, CheckedBatch
from cordwood.records.batch_header import read_header
from cordwood.records.batch_stream import batch_at
from cordwood.records.decoder import AbortedProducers, Step, step_of
from cordwood.records.plain_decoder import is_abort_marker
from cordwood.records.record_batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT
from cordwood.spark.source.coverage import OffsetRange, PartitionDirectory
from cordwood.spark.source.directory_offsets import open_log
from cordwood.spark.source.splits import Split
from cordwood.storage.reader.segment_walk import SegmentBatchRun
from cordwood.storage.reader.transaction_reader import TransactionLookahead
from cordwood.workbench.partition_columns import find_aborted

#: A size limit that no batch reaches: no batch is returned for its size alone.
_ANY_SIZE: Final = 1 << 40


class HeaderCount(NamedTuple):
    """The records counted from headers, and the ranges that must be read."""

    counted: int
    uncounted: list[OffsetRange]


def count_from_headers(
    files: Files, split: Split, *, is_committed: bool, checker: BatchChecker
) -> HeaderCount:
    """Count the records of a split from its headers."""
    assert isinstance(split.source, PartitionDirectory), "brokers send no headers alone"
    counted, uncounted = 0, list[OffsetRange]()
    with open_log(files, split.source.path) as reader:
        transactions = TransactionLookahead(reader, split.range.end) if is_committed else None
        passed = split.range.start
        for run in reader.buffers(passed, split.range.end):
            count = None
            is_lost = run.first_offset > passed and reader.log_start() > passed
            if not is_lost and _is_inside(run, split.range) and _is_decided(run, transactions):
                aborted = () if transactions is None else find_aborted(run, transactions)
                count = _count(run, checker, AbortedProducers(aborted))
            if count is None:
                _append_range(uncounted, split.range._replace(start=passed, end=run.next_offset))
            counted += count or 0
            passed = run.next_offset
    if passed < split.range.end:
        _append_range(uncounted, split.range._replace(start=passed))
    end = split.range.end
    return HeaderCount(counted, [each._replace(end=min(each.end, end)) for each in uncounted])


def _is_inside(run: SegmentBatchRun, wanted: OffsetRange) -> bool:
    return wanted.start <= run.first_offset and run.next_offset <= wanted.end


def _is_decided(run: SegmentBatchRun, transactions: TransactionLookahead | None) -> bool:
    """Return whether the aborted transactions of a run are known; look ahead if they are not.

    The run that triggers the look-ahead must be read, because the log may have changed since.
    """
    if transactions is None or not run.has_transactions or transactions.is_read:
        return True
    transactions.read_ahead(run.first_offset)
    return False


def _append_range(ranges: list[OffsetRange], added: OffsetRange) -> None:
    """Append a range; merge it with the last one if they are adjacent."""
    if ranges and ranges[-1].end == added.start:
        added = ranges.pop()._replace(end=added.end)
    ranges.append(added)


def _count(run: SegmentBatchRun, checker: BatchChecker, aborted: AbortedProducers) -> int | None:
    """Return the number of records by the headers of a run; None if they have no count."""
    first = read_header(run.data)
    if first is None or first.magic != MAGIC:
        return None
    survey = BatchSurvey(large=_ANY_SIZE)
    swept = checker.survey(run.data, survey)
    if swept.fault is not None or any(survey.magics[:MAGIC]):
        return None
    count = sum(survey.records)
    if survey.control or survey.transactional:
        try:
            count -= _count_without_rows(swept.batches, run.data, aborted)
        except BadRecordsError:
            return None
    return count


def _count_without_rows(
    batches: Iterable[CheckedBatch], data: memoryview, aborted: AbortedProducers
) -> int:
    """Return the records in batches that yield no rows: markers and aborted batches."""
    count = 0
    for batch in batches:
        step = step_of(
            aborted,
            producer_id=batch.producer_id,
            last_offset=batch.last_offset,
            is_control=bool(batch.attributes & CONTROL_BIT),
            is_transactional=bool(batch.attributes & TRANSACTIONAL_BIT),
            is_outside=False,
        )
        if step is Step.END:
            marker = batch_at(data, batch.position)
            assert marker is not None, "a run has whole batches"
            if is_abort_marker(list(marker.records())):
                aborted.end(batch.producer_id)
        if step is not Step.ROWS:
            count += max(batch.record_count, 0)
    return count

"""How many records a split has: from headers where these say it, else from the records.

A header counts what was put into its batch and is still there. That is the answer, but for

    control batches, and aborted ones for who reads committed    left out, by their headers
    a batch of which the split has a part                        decoded, offsets alone
    the old formats, whose headers do not count                  the same

Headers are believed: checksums are looked at only where records are decoded.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files
from cordwood.records.batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT
from cordwood.records.chunk import AbortedProducers, Decoder, Step, step_of
from cordwood.records.header import read_header
from cordwood.records.plain import is_abort_marker
from cordwood.records.stream import batch_at
from cordwood.records.sweep import Survey, Sweeper, SweptBatch
from cordwood.spark.segments import open_log
from cordwood.spark.splits import Split
from cordwood.storage.reader import PartitionReader
from cordwood.storage.reader_transactions import ReaderTransactions
from cordwood.storage.reader_walk import BatchRun
from cordwood.workbench.columns import ColumnsWanted, aborted_in, read_partition

#: No batch comes back for its size alone.
_ANY_SIZE: Final = 1 << 40


class _Tally(NamedTuple):
    """What headers have told of a split, and the ranges of offsets of which they do not tell."""

    told: int
    untold: list[tuple[int, int]]


def count_split(
    files: Files, split: Split, *, is_committed: bool, sweeper: Sweeper, decoder: Decoder
) -> int:
    """Return how many records a reading of the split has."""
    assert split.path is not None, "a split is in a directory"
    with open_log(files, split.path) as reader:
        count, untold = _tally(reader, split, is_committed=is_committed, sweeper=sweeper)
    for start, end in untold:
        wanted = ColumnsWanted(columns=("offset",), start=start, end=end, is_committed=is_committed)
        with open_log(files, split.path) as reader:
            count += sum(each.num_rows for each in read_partition(reader, wanted, decoder=decoder))
    return count


def _tally(
    reader: PartitionReader, split: Split, *, is_committed: bool, sweeper: Sweeper
) -> _Tally:
    """Go through the headers of a split."""
    _, start, end = split.range
    transactions = ReaderTransactions(reader) if is_committed else None
    count, untold, offset = 0, list[tuple[int, int]](), start
    for run in reader.buffers(start, end):
        is_whole = start <= run.first_offset and run.next_offset <= end
        aborted = () if transactions is None else aborted_in(run, transactions)
        told = _told(run, sweeper, AbortedProducers(aborted)) if is_whole else None
        if told is not None:
            count += told
        elif untold and untold[-1][1] == offset:
            untold[-1] = (untold[-1][0], min(run.next_offset, end))
        else:
            untold.append((offset, min(run.next_offset, end)))
        offset = run.next_offset
    return _Tally(count, untold)


def _told(run: BatchRun, sweeper: Sweeper, aborted: AbortedProducers) -> int | None:
    """Return what the headers of a run count; None where they do not say."""
    first = read_header(run.data)
    if first is None or first.magic != MAGIC:
        return None
    survey = Survey(large=_ANY_SIZE)
    swept = sweeper.survey(run.data, survey)
    if swept.fault is not None or any(survey.magics[:MAGIC]):
        return None
    count = sum(survey.records)
    if survey.control or survey.transactional:
        try:
            count -= _without_rows(swept.batches, run.data, aborted)
        except BadRecordsError:
            return None
    return count


def _without_rows(
    batches: Iterable[SweptBatch], data: memoryview, aborted: AbortedProducers
) -> int:
    """Return how many records lie in batches that yield no rows: markers, and what they abort."""
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

"""How many records a split has, as far as headers say it; the rest is left to be read.

A header counts what was put into its batch and is still there. That is the answer, but for

    control batches, and aborted ones for who reads committed    left out, by their headers
    a batch of which the split has a part                        left to be read
    the old formats, whose headers do not count                  the same
    what the log has lost since it was cut                       the same: who reads knows why

Headers are believed: checksums are looked at only where records are read.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError
from cordwood.core.ports import Files
from cordwood.records.batch import CONTROL_BIT, MAGIC, TRANSACTIONAL_BIT
from cordwood.records.chunk import AbortedProducers, Step, step_of
from cordwood.records.header import read_header
from cordwood.records.plain import is_abort_marker
from cordwood.records.stream import batch_at
from cordwood.records.sweep import Survey, Sweeper, SweptBatch
from cordwood.spark.holdings import Range
from cordwood.spark.segments import open_log
from cordwood.spark.splits import Split
from cordwood.storage.reader_transactions import TransactionsAhead
from cordwood.storage.reader_walk import BatchRun
from cordwood.workbench.columns import aborted_in

#: No batch comes back for its size alone.
_ANY_SIZE: Final = 1 << 40


class Tally(NamedTuple):
    """What headers have told of a split, and the ranges of offsets of which they do not tell."""

    told: int
    untold: list[Range]


def tally_split(files: Files, split: Split, *, is_committed: bool, sweeper: Sweeper) -> Tally:
    """Go through the headers of a split."""
    assert split.path is not None, "a split is in a directory"
    told, untold = 0, list[Range]()
    with open_log(files, split.path) as reader:
        transactions = TransactionsAhead(reader, split.range.end) if is_committed else None
        passed = split.range.start
        for run in reader.buffers(passed, split.range.end):
            count = None
            is_lost = run.first_offset > passed and reader.log_start() > passed
            if not is_lost and _is_inside(run, split.range) and _is_decided(run, transactions):
                aborted = () if transactions is None else aborted_in(run, transactions)
                count = _told(run, sweeper, AbortedProducers(aborted))
            if count is None:
                _leave(untold, split.range._replace(start=passed, end=run.next_offset))
            told += count or 0
            passed = run.next_offset
    if passed < split.range.end:
        _leave(untold, split.range._replace(start=passed))
    return Tally(told, [each._replace(end=min(each.end, split.range.end)) for each in untold])


def _is_inside(run: BatchRun, wanted: Range) -> bool:
    return wanted.start <= run.first_offset and run.next_offset <= wanted.end


def _is_decided(run: BatchRun, transactions: TransactionsAhead | None) -> bool:
    """Whether it is known what was aborted; the run that makes one look is too old by then."""
    if transactions is None or not run.has_transactions or transactions.is_known:
        return True
    transactions.look(run.first_offset)
    return False


def _leave(untold: list[Range], wanted: Range) -> None:
    """Add a range to those that are to be read, to the last of them if it goes on from there."""
    if untold and untold[-1].end == wanted.start:
        wanted = untold.pop()._replace(end=wanted.end)
    untold.append(wanted)


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

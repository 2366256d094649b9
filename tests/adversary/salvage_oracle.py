"""Salvage of a damaged random log in memory, and the oracle that judges the result.

The oracle knows each record, its transaction's state and where it must end up:

    led and unchanged   a whole batch to which the sizes lead is kept as it was; if only its base
                        offset is changed, behind a whole batch, its records are kept somewhere
    unchanged           is kept as it was, or is reported as lost or doubtful
    kept                has the content and the state of the source, or is doubtful
    not kept            is reported as lost; nothing that is kept is
    open                a transaction stays open if it is open in the source, or is doubtful: it
                        holds up all readers of committed records, also if no record of it is left

Where the bytes allow several logs, the salvage has to be right for one of them: `other_histories`.
"""

from collections.abc import Iterable
from typing import NamedTuple

from cordwood.core.errors import LogDirectoryError
from cordwood.core.ports import Ports
from cordwood.records.batch_stream import batches
from cordwood.records.control_records import EndTransaction, read_control
from cordwood.records.record import Record
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.log_config import LogConfig
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.salvage.salvage import SalvageOptions, salvage
from cordwood.workbench.salvage.salvage_report import ReportedOffsets, SalvageReport
from cordwood.workbench.verify.verify import verify
from tests.adversary.batch_bytes import RecordContent
from tests.adversary.damages import SHIFTING, DamagedLog
from tests.adversary.other_histories import has_aborted, has_ended, other_history, zeroed_aborts
from tests.adversary.random_logs import NAME, RandomLog, WrittenRecord

SOURCE = f"/source/{NAME}"
SMALL = LogConfig(segment_bytes=2000, segment_index_bytes=1200)


class ReadRecord(NamedTuple):
    """A record of the new log, and its state by the markers behind it."""

    content: RecordContent
    state: str


class Salvaged(NamedTuple):
    """The records of the new log by offset, the report, and the files.

    `opened` are the first offsets of transactions without a marker behind them.
    """

    records: dict[int, ReadRecord]
    opened: list[int]
    report: SalvageReport
    files: MemoryFiles


def files_of(files: dict[str, bytes], beside: dict[str, bytes]) -> MemoryFiles:
    """Return a file system with the log directory `/source`, and the partition in it."""
    out = MemoryFiles(VirtualClock())
    for path, contents in (("/source", beside), (SOURCE, files)):
        out.make_directory(path)
        for name, data in contents.items():
            out.create(f"{path}/{name}").append(data)
    return out


def salvaged(files: MemoryFiles) -> Salvaged | None:
    """Salvage the partition of a file system; None if it has no readable batch."""
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    try:
        report = salvage(ports, SOURCE, out="/out", options=SalvageOptions(config=SMALL))
    except LogDirectoryError as error:
        if "contains no" in str(error):
            return None
        raise
    return Salvaged(*read_records(files, report.path), report, files)


def read_records(files: MemoryFiles, path: str) -> tuple[dict[int, ReadRecord], list[int]]:
    """Return the records of a log and their states, by a plain walk over its batches.

    The list has the first offset of each open transaction.
    """
    found: dict[int, ReadRecord] = {}
    opened: dict[int, list[int]] = {}
    firsts: dict[int, int] = {}
    names = sorted(name for name in files.list(path) if name.endswith(".log"))
    for batch in (each for name in names for each in batches(read_whole(files, f"{path}/{name}"))):
        if isinstance(batch, RecordBatch) and batch.is_control:
            state = _state(batch)
            firsts.pop(batch.producer_id, None)
            for offset in opened.pop(batch.producer_id, []):
                found[offset] = found[offset]._replace(state=state)
            continue
        state = "open" if batch.is_transactional else "plain"
        if batch.is_transactional:
            firsts.setdefault(batch.producer_id, batch.base_offset)
        for record in batch.records():
            found[record.offset] = ReadRecord(_content(record), state)
            if batch.is_transactional:
                opened.setdefault(batch.producer_id, []).append(record.offset)
    return found, sorted(firsts.values())


def _content(record: Record) -> RecordContent:
    headers = tuple(
        (header, None if data is None else bytes(data)) for header, data in record.headers
    )
    key, value = (None if each is None else bytes(each) for each in (record.key, record.value))
    return RecordContent(record.offset, record.timestamp, key, value, headers)


def _state(batch: RecordBatch) -> str:
    control = read_control(next(batch.records()))
    assert isinstance(control, EndTransaction)
    return "committed" if control.is_commit else "aborted"


def violations(log: RandomLog, damage: DamagedLog) -> list[str]:
    """Return every way in which the salvage of a damaged log is wrong."""
    result = salvaged(files_of(damage.files, damage.beside))
    if result is None:
        return [
            f"{each.content.offset} is whole, and nothing was salvaged"
            for each in log.records
            if _is_whole(damage, each.batch)
        ]
    found = list(_wrong(log, damage, result))
    other = other_history(damage) if found else None
    if other is not None:
        found = list(_wrong(other.source, other, result))
    return [*found, *_damaged(result)]


def _wrong(log: RandomLog, damage: DamagedLog, result: Salvaged) -> Iterable[str]:
    """Yield every way in which a new log is not that of a damaged one."""
    yield from _judged(log, damage, result)
    yield from _gone_by_offset(log, damage, result)
    yield from _held_up(log, result)


def _held_up(log: RandomLog, result: Salvaged) -> Iterable[str]:
    """Yield the transactions that are open for ever without a report."""
    doubtful = OffsetRanges(result.report.doubtful)
    for offset in result.opened:
        is_open = any(
            each.state == "open" and each.base_offset <= offset <= each.last_offset
            for each in log.plan
        )
        if not is_open and offset not in doubtful:
            yield f"the transaction from {offset} on is open"


def _damaged(result: Salvaged) -> Iterable[str]:
    """Yield what `verify` reports of the new log, but for lost offsets, which the report has."""
    lost = OffsetRanges(result.report.lost)
    for each in verify(result.files, [result.report.path]).damages:
        missing = range(each.first_offset or 0, each.end_offset or 0)
        is_reported = all(offset in lost for offset in missing)
        if not ("missing offsets" in str(each) and missing and is_reported):
            yield f"the new log is damaged: {each}"


def _judged(log: RandomLog, damage: DamagedLog, result: Salvaged) -> Iterable[str]:
    report = result.report
    lost, doubtful = OffsetRanges(report.lost), OffsetRanges(report.doubtful)
    # A segment of which no file is left looks like what a cleaner removes.
    gaps = OffsetRanges(report.gaps, end=log.cleaned_to)
    aborts = list(zeroed_aborts(damage))
    for record in log.records:
        offset = record.content.offset
        got = result.records.get(offset)
        is_same = got is not None and got.content == record.content
        is_reported = offset in lost or (offset in gaps and _is_gone(damage, record.file))
        is_lost = got is None and not is_reported
        if (
            is_lost
            and not _is_before_start(damage, record, result)
            and not has_ended(damage, record.file)
            and offset not in [each.last_offset for each in aborts]
        ):
            yield f"{offset} is lost without a report"
        if got is not None and not is_same and offset not in doubtful:
            yield f"{offset} is changed without a report: {got}"
        is_visible = offset >= log.start and offset not in doubtful
        if (
            is_same
            and got is not None
            and got.state != record.state
            and is_visible
            and not (got.state == "aborted" and _has_aborted(damage, record, aborts))
        ):
            yield f"{offset} was {record.state} and is {got.state}"
        if not is_same and _is_whole(damage, record.batch):
            yield f"{offset} is whole, and the sizes lead to it, but it is {got}"
    known = {record.content.offset for record in log.records}
    # Other segments of a replica, and offsets of v0 and v1, which no checksum covers.
    may_add = "segment of a replica" in damage.kinds or _has_other_offsets(damage)
    for offset in sorted(result.records):
        if offset not in known and offset not in doubtful and not may_add:
            yield f"{offset} was never written"
        if offset in lost:
            yield f"{offset} is kept, and reported as lost"


def _gone_by_offset(log: RandomLog, damage: DamagedLog, result: Salvaged) -> Iterable[str]:
    """Yield the records that are nowhere although only the base offset of their batch is wrong."""
    kept = {each.content._replace(offset=0) for each in result.records.values()}
    for record in log.records:
        if record.content._replace(offset=0) not in kept and _has_wrong_offset(
            damage, record.batch
        ):
            yield f"{record.content.offset} is whole but for its base offset, and is gone"


def _has_aborted(damage: DamagedLog, record: WrittenRecord, aborts: list[AbortedTxn]) -> bool:
    """Return whether the transaction of a record may have been aborted, by what is left of it."""
    offset, producer_id = record.content.offset, damage.source.batches[record.batch].producer_id
    return has_aborted(damage, record.batch) or any(
        each.producer_id == producer_id and each.first_offset <= offset < each.last_offset
        for each in aborts
    )


def _is_gone(damage: DamagedLog, file: str) -> bool:
    """Return whether no file of a segment is left."""
    return not any(name.startswith(file[:20]) for name in damage.files)


def _is_before_start(damage: DamagedLog, record: WrittenRecord, result: Salvaged) -> bool:
    """Return whether a record may be missing like one that retention has taken.

    It was deleted, or its file is gone and no later file shows that there was one.
    """
    offset = record.content.offset
    is_gone = record.file not in damage.files and offset < result.report.log_start
    return offset < damage.source.start or is_gone


def _has_other_offsets(damage: DamagedLog) -> bool:
    return any(
        each.magic < 2 and damage.is_touched(each.file, each.position, each.position + 8)
        for each in damage.source.batches
    )


def _is_whole(damage: DamagedLog, number: int) -> bool:
    """Return whether a batch is unchanged, and sizes lead to it."""
    batch = damage.source.batches[number]
    is_touched = damage.is_touched(batch.file, batch.position, batch.end)
    return not is_touched and batch.file in damage.files and damage.is_led(batch)


def _has_wrong_offset(damage: DamagedLog, number: int) -> bool:
    """Return whether only the base offset of a batch is changed, behind a whole batch."""
    batch = damage.source.batches[number]
    before = damage.source.batches[number - 1] if batch.position else None
    is_certain = before is None or _is_whole(damage, number - 1)
    is_same = not damage.is_touched(batch.file, batch.position + 8, batch.end)
    is_led = (
        batch.file in damage.files and damage.is_led(batch) and not SHIFTING & set(damage.kinds)
    )
    return batch.magic == 2 and is_certain and is_same and is_led


class OffsetRanges:
    """Reported ranges of offsets; one whose end is unknown has no end."""

    def __init__(self, ranges: Iterable[ReportedOffsets], *, end: int | None = None) -> None:
        self._ranges = [(each.first, each.last) for each in ranges]
        self._end = end

    def __contains__(self, offset: int) -> bool:
        is_below = self._end is None or offset < self._end
        return is_below and any(
            first <= offset and (last is None or offset <= last) for first, last in self._ranges
        )

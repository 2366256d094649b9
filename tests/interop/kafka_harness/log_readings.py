"""A log as its readers get it: by our reader, or by Kafka's log classes, to compare both.

Kafka differs in this, by design of ours or by its own:

    lookups by time    it looks at one segment, the first whose latest time is late enough, and
                       finds nothing if this has no such record from the log start on; a segment
                       without times has that of its file. Our reader looks at the next ones too,
                       so a record that is found there counts as none here
    aborted            its index keeps transactions of which the log start has left the marker or
                       a part; for our reader these begin at the log start, or are not there.
                       If a cleaner has removed the first batches of a transaction, or all, its
                       index keeps it; for our reader it may begin later, or is not there
    last stable        it may be below a log start that is inside of a batch
    files at a start   it removes snapshots up to the log start, and the epochs before it; it makes
                       an empty file of epochs if there is none
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias, cast

import pyarrow as pa

from cordwood.core.ports import Files
from cordwood.records.batch_header import BatchHeader
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.file_names import LOG, SNAPSHOT
from cordwood.storage.files.header_scan import headers
from cordwood.storage.reader.partition_reader import PartitionReader
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.storage.reader.transaction_reader import TransactionReader
from cordwood.storage.segment.transaction_index import AbortedTxn
from cordwood.workbench.partition_columns import ColumnsRequest, read_partition
from tests.adversary.batch_bytes import RecordContent

COLUMNS: Final = ("offset", "timestamp", "key", "value", "headers")

#: A timestamp and an offset; None without a record at or after the time.
FoundTime: TypeAlias = tuple[int, int] | None


class LogReading(NamedTuple):
    """Bounds of a log, the records of both isolation levels, and the answers to lookups."""

    log_start: int
    log_end: int
    last_stable: int
    uncommitted: list[RecordContent]
    committed: list[RecordContent]
    aborted: list[AbortedTxn]
    times: list[FoundTime]


def our_reading(files: Files, path: str, times: Sequence[int]) -> LogReading:
    """Read a partition's directory with our reader."""
    reader = open_reader(files, path)
    bounds, transactions = reader.offsets(), TransactionReader(reader)
    latest = _latest_times(files, path)
    return LogReading(
        bounds.log_start,
        bounds.log_end,
        transactions.last_stable_offset(),
        our_records(files, path, is_committed=False),
        our_records(files, path, is_committed=True),
        sorted(transactions.aborted_between(bounds.log_start, bounds.log_end)),
        [_find(reader, time, latest) for time in times],
    )


def _latest_times(files: Files, path: str) -> dict[int, int]:
    """Return the latest time of each segment by its base offset, -1 without times."""
    found: dict[int, int] = {}
    for name in sorted(name for name in files.list(path) if name.endswith(LOG)):
        read = _headers(read_whole(files, f"{path}/{name}"))
        found[int(name[:20])] = max((each.max_timestamp for each in read), default=-1)
    return found


def _headers(data: bytes) -> Iterator[BatchHeader]:
    return headers(lambda length, at: data[at : at + length], 0, len(data))


def _find(reader: PartitionReader, time: int, latest: Mapping[int, int]) -> FoundTime:
    """Return our reader's answer to a lookup, if it is in the segment that Kafka looks at."""
    late = (base for base, each in latest.items() if each >= time or each < 0)
    base, found = next(late, None), reader.offset_for_timestamp(time)
    if found is None or base is None:
        return None
    end = min((each for each in latest if each > base), default=found.offset + 1)
    return (found.timestamp, found.offset) if found.offset < end else None


def our_records(files: Files, path: str, *, is_committed: bool = False) -> list[RecordContent]:
    """Return the records of a partition from the log start on."""
    reader = open_reader(files, path)
    request = ColumnsRequest(columns=COLUMNS, start=reader.log_start(), is_committed=is_committed)
    found: list[RecordContent] = []
    for rows in read_partition(reader, request, decoder=PlainDecoder()):
        offsets, times, keys, values, headers = (rows[name] for name in COLUMNS)
        pairs = [tuple((each["key"], each["value"]) for each in one) for one in headers.to_pylist()]
        columns = (offsets, times.cast(pa.int64()), keys, values)
        found += map(RecordContent, *(column.to_pylist() for column in columns), pairs)
    return found


def kafka_reading(answer: dict[str, object]) -> LogReading:
    """Return the reading of Kafka's answer (`OpenedLogs.look`)."""
    names = ("log_start", "log_end", "last_stable")
    log_start, log_end, last_stable = (cast("int", answer[name]) for name in names)
    return LogReading(
        log_start,
        log_end,
        last_stable,
        [_record(each) for each in _rows(answer["uncommitted"])],
        [_record(each) for each in _rows(answer["committed"])],
        sorted(AbortedTxn(*cast("list[int]", each)) for each in _rows(answer["aborted"])),
        [cast("FoundTime", each and tuple(each)) for each in _rows(answer["times"])],
    )


def differences(ours: LogReading, theirs: LogReading) -> list[str]:
    """Return each field that differs, with the first items of lists that are not in both."""
    begun = {each.last_offset for each in theirs.aborted if each.first_offset < ours.log_start}
    ours, theirs = (_without(each, begun) for each in (ours, theirs))
    theirs = _as_ours(theirs, ours)
    found = []
    for name, one, other in zip(LogReading._fields, ours, theirs, strict=True):
        if isinstance(one, list) and isinstance(other, list) and one != other:
            left, right = _apart(one, other)
            found.append(f"{name}: ours {left}, Kafka's {right}")
        elif one != other:
            found.append(f"{name}: ours {one}, Kafka's {other}")
    return found


def _without(reading: LogReading, markers: set[int]) -> LogReading:
    """Return a reading without the aborted transactions of some markers."""
    aborted = [each for each in reading.aborted if each.last_offset not in markers]
    return reading._replace(aborted=aborted)


def _as_ours(theirs: LogReading, ours: LogReading) -> LogReading:
    """Return Kafka's reading with the start of aborted transactions and the bound of ours.

    Entries that ours has not, and that hide no record, are left out.
    """
    starts = {(each.producer_id, each.last_offset): each.first_offset for each in ours.aborted}
    hidden = {each.offset for each in theirs.uncommitted}
    hidden -= {each.offset for each in theirs.committed}
    aborted = []
    for each in theirs.aborted:
        start = starts.get((each.producer_id, each.last_offset))
        if start is not None:
            aborted.append(each._replace(first_offset=max(each.first_offset, start)))
        elif any(each.first_offset <= offset <= each.last_offset for offset in hidden):
            aborted.append(each)
    stable = max(theirs.last_stable, theirs.log_start)
    return theirs._replace(aborted=sorted(aborted), last_stable=stable)


def changes(
    before: Mapping[str, bytes], after: Mapping[str, bytes], *, log_start: int
) -> Iterator[str]:
    """Yield the files of a partition that Kafka has changed, other than at each start."""
    for name in sorted(before.keys() | after.keys()):
        old, new = before.get(name), after.get(name)
        is_old_snapshot = name.endswith(SNAPSHOT) and int(name[:20]) <= log_start
        if old == new or (is_old_snapshot and new is None):
            continue
        if name == LEADER_EPOCHS and _epochs_from(old, log_start) == new:
            continue
        yield f"Kafka has changed {name}: {old!r}, {new!r}"


def _epochs_from(data: bytes | None, log_start: int) -> bytes:
    """Return the file of leader epochs as Kafka shortens it to a log start, empty without one."""
    if data is None:
        return b""
    entries = [tuple(map(int, line.split())) for line in data.decode().splitlines()[2:]]
    later = [each for each in entries if each[1] > log_start]
    earlier = [(epoch, log_start) for epoch, start in entries if start <= log_start]
    kept = earlier[-1:] + later
    lines = "".join(f"{epoch} {start}\n" for epoch, start in kept)
    return f"0\n{len(kept)}\n{lines}".encode()


def _apart(one: list[object], other: list[object]) -> tuple[object, object]:
    """Return the first three items of two lists from their first difference on."""
    pairs = zip(one, other, strict=False)
    at = next((at for at, (left, right) in enumerate(pairs) if left != right), None)
    at = min(len(one), len(other)) if at is None else at
    return one[at : at + 3], other[at : at + 3]


def _record(row: list[object]) -> RecordContent:
    offset, timestamp, key, value, headers = row
    pairs = tuple((name, _bytes(data)) for name, data in cast("list[tuple[str, str]]", headers))
    return RecordContent(
        cast("int", offset), cast("int", timestamp), _bytes(key), _bytes(value), pairs
    )


def _bytes(text: object) -> bytes | None:
    return None if text is None else cast("str", text).encode("latin-1")


def _rows(value: object) -> list[list[object]]:
    assert isinstance(value, list)
    return value

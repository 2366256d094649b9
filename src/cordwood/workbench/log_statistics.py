"""Statistics of logs, added up batch by batch, part by part and log by log.

The parts of one log must be added in order, wherever each was counted: a transaction that is open
at the end of one part may end in the next. A counter can be pickled and sent to another process.
"""

import json
from bisect import insort
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

from cordwood.core.counts import counted
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_checks import BatchSurvey, CheckedBatch
from cordwood.records.batch_header import read_header
from cordwood.records.compression import Codec
from cordwood.records.record_batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.storage.producers.producer_state_entry import ProducedBatch
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.workbench.quantities import size_text, time_text
from cordwood.workbench.segment_walk import SweptRange

#: The number of largest batches that are reported.
LARGEST: Final = 5


#: The columns of the table, and those of numbers.
_TITLES: Final = (
    "PARTITION",
    "SIZE",
    "RECORDS",
    "BATCHES",
    "SEGMENTS",
    "EARLIEST",
    "LATEST",
    "CODECS",
    "REMARKS",
)
_NUMBERS: Final = frozenset(range(1, 5))


class StatOrder(StrEnum):
    """The orders of partitions in statistics; the values are fields of `LogStatistics`."""

    PARTITION = "partition"
    SIZE = "size"
    RECORDS = "records"
    BATCHES = "batches"
    SEGMENTS = "segments"
    EARLIEST = "earliest_ms"
    LATEST = "latest_ms"


class LargeBatch(NamedTuple):
    """One of the largest batches."""

    size: int
    path: str
    position: int
    base_offset: int
    last_offset: int


class CodecStatistics(NamedTuple):
    """The batches of one compression type."""

    batches: int
    records: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordStatistics:
    """Statistics of the records themselves, without control records.

    `unpacked_size` and `ratio` include control batches. `ratio` is the stored size of the batches
    divided by their uncompressed size.
    """

    keyless: int
    tombstones: int
    key_bytes: int
    value_bytes: int
    headers: int
    unpacked_size: int
    ratio: float

    def __str__(self) -> str:
        """Return the statistics as one line."""
        return (
            f"{self.keyless:,} without key, {self.tombstones:,} tombstones, keys of "
            f"{self.key_bytes:,} bytes, values of {self.value_bytes:,} bytes, "
            f"{self.headers:,} headers, compression ratio {self.ratio:.3f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStatistics:
    """The statistics of one or several partitions; times are in ms since 1970, -1 for none.

    `unopened_wrappers` contain records that are not counted. `skipped_bytes` are not batches; they
    include the tail of a log that is being written or was torn. Transactions are counted by their
    markers; a transaction without a marker is open.
    """

    path: str
    partition: str | None
    segments: int
    size: int
    batches: int
    records: int
    earliest_ms: int
    latest_ms: int
    codecs: dict[str, CodecStatistics]
    formats: dict[str, int]
    producers: int
    control_batches: int
    transactional_batches: int
    transactions_open: int
    transactions_committed: int
    transactions_aborted: int
    unopened_wrappers: int
    skipped_bytes: int
    largest: tuple[LargeBatch, ...]
    deep: RecordStatistics | None = None

    def __str__(self) -> str:
        """Return the statistics as a few lines."""
        span = f"{time_text(self.earliest_ms)} to {time_text(self.latest_ms)}"
        if self.latest_ms < 0:
            span = "no times"
        codecs = (
            f"{name} {counted(each.batches, 'batch', plural='batches')} of {size_text(each.size)}"
            for name, each in self.codecs.items()
        )
        formats = (f"{name} {count:,}" for name, count in self.formats.items())
        largest = (f"{size_text(each.size)} at offset {each.base_offset}" for each in self.largest)
        wrappers = self.unopened_wrappers
        texts = {
            "size": f"{size_text(self.size)} ({self.size:,} bytes) in "
            f"{counted(self.segments, 'segment')}",
            "batches": f"{self.batches:,}",
            "records": f"{self.records:,}, {span}",
            "codecs": _join(codecs),
            "formats": _join(formats),
            "producers": f"{self.producers:,}",
            "transactions": f"{self.transactions_open:,} open, "
            f"{self.transactions_committed:,} committed, {self.transactions_aborted:,} aborted",
            "largest": _join(largest),
            "not batches": counted(self.skipped_bytes, "byte") if self.skipped_bytes else "",
            "not opened": counted(wrappers, "wrapper") if wrappers else "",
            "deep": "" if self.deep is None else str(self.deep),
        }
        lines = [f"  {name}: {text}" for name, text in texts.items() if text]
        return "\n".join([f"{self.path}", *lines])

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps(_as_json(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStat:
    """The statistics of each partition, and the total."""

    partitions: tuple[LogStatistics, ...]
    total: LogStatistics

    def __str__(self) -> str:
        """Return the statistics of one partition in detail, those of several as a table."""
        if len(self.partitions) > 1:
            return "\n".join(self.table())
        return self.details() or "no partitions"

    def details(self) -> str:
        """Return the statistics of each partition in detail, and the total of several."""
        shown = (*self.partitions, self.total) if len(self.partitions) > 1 else self.partitions
        return "\n".join(map(str, shown))

    def table(self) -> list[str]:
        """Return a line for each partition, and one for the total, below a line of titles."""
        named = Counter(each.partition for each in self.partitions)
        rows = [
            _row(each, each.path if named[each.partition] > 1 else each.partition or each.path)
            for each in self.partitions
        ]
        rows.append(_row(self.total, "total"))
        widths = [max(map(len, column)) for column in zip(_TITLES, *rows, strict=True)]
        return [_line(row, widths) for row in (_TITLES, *rows)]

    def sorted_by(self, order: "StatOrder", *, top: int | None = None) -> "LogStat":
        """Return the partitions in an order, the largest first; only the first ones of `top`.

        The total remains that of all partitions.
        """
        name = order.value
        if order is StatOrder.PARTITION:
            found = sorted(self.partitions, key=_by_name)
        else:
            found = sorted(self.partitions, key=lambda each: -getattr(each, name))
        return replace(self, partitions=tuple(found[:top]))

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        partitions = [_as_json(each) for each in self.partitions]
        return json.dumps({"partitions": partitions, "total": _as_json(self.total)})


@dataclass(slots=True, kw_only=True)
class LogCounter:
    """Counter of one log, or of several once others have been added."""

    is_deep: bool
    survey: BatchSurvey = field(default_factory=BatchSurvey)
    segments: int = 0
    size: int = 0
    skipped: int = 0
    committed: int = 0
    aborted: int = 0
    opened: int = 0
    largest: list[LargeBatch] = field(default_factory=list)
    producers: set[int] = field(default_factory=set)
    #: By producer id: whether its last transactional batch leaves a transaction open.
    open_by_producer: dict[int, bool] = field(default_factory=dict)

    def add(self, part: SweptRange, path: str) -> None:
        """Count the batches that the survey lists: of producers, markers, and large ones."""
        for batch in part.swept.batches:
            if batch.producer_id >= 0:
                self.producers.add(batch.producer_id)
            if batch.attributes & CONTROL_BIT:
                self._add_marker(batch, part.data)
            elif batch.attributes & TRANSACTIONAL_BIT:
                self.open_by_producer[batch.producer_id] = True
            if batch.size > self.survey.large:
                self._add_large(batch, path, part.position)

    def add_part(self, other: "LogCounter") -> None:
        """Add the counts of the next part of the same log."""
        self._add(other)
        self.open_by_producer |= other.open_by_producer

    def add_log(self, other: "LogCounter") -> None:
        """Add the counts of another log."""
        self._add(other)
        self.opened += other.open_count

    @property
    def open_count(self) -> int:
        """Return the number of transactions that are open at the end."""
        return self.opened + sum(self.open_by_producer.values())

    def _add(self, other: "LogCounter") -> None:
        self.survey.join(other.survey)
        self.segments += other.segments
        self.size += other.size
        self.skipped += other.skipped
        self.committed += other.committed
        self.aborted += other.aborted
        self.producers |= other.producers
        self.largest = sorted(self.largest + other.largest)[-LARGEST:]

    def statistics(self, path: str, partition: str | None) -> LogStatistics:
        """Return the counts as statistics."""
        survey = self.survey
        codecs = zip(Codec, survey.batches, survey.records, survey.bytes, strict=False)
        return LogStatistics(
            path=path,
            partition=partition,
            segments=self.segments,
            size=self.size,
            batches=sum(survey.batches),
            records=sum(survey.records),
            earliest_ms=survey.earliest,
            latest_ms=survey.latest,
            codecs={codec.kafka_name: CodecStatistics(*each) for codec, *each in codecs if each[0]},
            formats={f"v{magic}": count for magic, count in enumerate(survey.magics) if count},
            producers=len(self.producers),
            control_batches=survey.control,
            transactional_batches=survey.transactional,
            transactions_open=self.open_count,
            transactions_committed=self.committed,
            transactions_aborted=self.aborted,
            unopened_wrappers=0 if self.is_deep else survey.wrappers,
            skipped_bytes=self.skipped,
            largest=tuple(reversed(self.largest)),
            deep=self._deep() if self.is_deep else None,
        )

    def _deep(self) -> RecordStatistics:
        survey = self.survey
        return RecordStatistics(
            keyless=survey.keyless,
            tombstones=survey.tombstones,
            key_bytes=survey.key_bytes,
            value_bytes=survey.value_bytes,
            headers=survey.headers,
            unpacked_size=survey.unpacked_bytes,
            ratio=sum(survey.bytes) / survey.unpacked_bytes if survey.unpacked_bytes else 1.0,
        )

    def _add_marker(self, batch: CheckedBatch, data: memoryview) -> None:
        window = data[batch.position : batch.position + batch.size]
        header = read_header(window)
        assert header is not None, "a whole batch has a whole header"
        try:
            marker = ProducedBatch.of(header, window).marker
        except BadRecordsError:
            return
        if marker is not None:
            self.open_by_producer[batch.producer_id] = False
            self.committed += marker.is_commit
            self.aborted += not marker.is_commit

    def _add_large(self, batch: CheckedBatch, path: str, start: int) -> None:
        _, position = batch.position, start + batch.position
        large = LargeBatch(batch.size, path, position, batch.base_offset, batch.last_offset)
        insort(self.largest, large)
        del self.largest[:-LARGEST]
        if len(self.largest) == LARGEST:
            self.survey.large = self.largest[0].size


def build_stat(counters: Iterable[tuple[str, LogCounter]], *, is_deep: bool) -> LogStat:
    """Return the statistics of logs, each with its path, and the total."""
    total, found = LogCounter(is_deep=is_deep), []
    for path, counting in counters:
        partition = partition_of(path)
        found.append(counting.statistics(path, None if partition is None else str(partition)))
        total.add_log(counting)
    return LogStat(partitions=tuple(found), total=total.statistics("total", None))


def _by_name(each: LogStatistics) -> tuple[str, int, str]:
    partition = partition_of(each.path)
    if partition is None:
        return (each.path, 0, each.path)
    return (partition.topic, partition.partition, each.path)


def _row(each: LogStatistics, name: str) -> tuple[str, ...]:
    """Return the cells of a partition."""
    remarks = (
        f"{each.transactions_open:,} open transactions" if each.transactions_open else "",
        f"{size_text(each.skipped_bytes)} not batches" if each.skipped_bytes else "",
    )
    return (
        name,
        size_text(each.size),
        f"{each.records:,}",
        f"{each.batches:,}",
        f"{each.segments:,}",
        time_text(each.earliest_ms),
        time_text(each.latest_ms),
        ",".join(each.codecs) or "-",
        ", ".join(filter(None, remarks)),
    )


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    cells = (
        cell.rjust(width) if at in _NUMBERS else cell.ljust(width)
        for at, (cell, width) in enumerate(zip(row, widths, strict=True))
    )
    return "  ".join(cells).rstrip()


def _as_json(sums: LogStatistics) -> dict[str, object]:
    named = replace(sums, codecs={}, largest=())
    found: dict[str, object] = asdict(named)
    found["codecs"] = {name: each._asdict() for name, each in sums.codecs.items()}
    found["largest"] = [each._asdict() for each in sums.largest]
    return found


def _join(texts: Iterable[str]) -> str:
    return ", ".join(texts) or "none"

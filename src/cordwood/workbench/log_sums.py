"""The numbers of logs, and how they are added up: batch by batch, part by part, log by log.

Parts of one log follow each other, wherever each was counted: what is open at the end of one may be
ended in the next. What is counted of a log can be carried from one process to another.
"""

import json
from bisect import insort
from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Final, NamedTuple

from cordwood.core.errors import BadRecordsError
from cordwood.records.batch import CONTROL_BIT, TRANSACTIONAL_BIT
from cordwood.records.compression import Codec
from cordwood.records.header import read_header
from cordwood.records.sweep import Survey, SweptBatch
from cordwood.storage.producer_state import ProducedBatch
from cordwood.storage.reader_place import partition_of
from cordwood.workbench.segment_walk import Stretch

#: How many of the largest batches are told.
LARGEST: Final = 5


class LargeBatch(NamedTuple):
    """One of the largest batches."""

    size: int
    path: str
    position: int
    base_offset: int
    last_offset: int


class CodecSum(NamedTuple):
    """What is compressed with one codec, or with none."""

    batches: int
    records: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordSums:
    """What only the records tell; control batches are left out, but for the two sizes of batches.

    `ratio` is the size of batches as they are, over the size they would have uncompressed.
    """

    keyless: int
    tombstones: int
    key_bytes: int
    value_bytes: int
    headers: int
    unpacked_size: int
    ratio: float

    def __str__(self) -> str:
        """Return the numbers as a line."""
        return (
            f"{self.keyless:,} without key, {self.tombstones:,} tombstones, keys of "
            f"{self.key_bytes:,} bytes, values of {self.value_bytes:,} bytes, "
            f"{self.headers:,} headers, compression ratio {self.ratio:.3f}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSums:
    """The numbers of one partition, or of several. Times are milliseconds since 1970, -1 for none.

    `unopened_wrappers` hold records that are not counted; `skipped_bytes` are no batches, the tail
    of a log that is being written or torn among them. Transactions are told by their markers, the
    open ones by having none.
    """

    path: str
    partition: str | None
    segments: int
    size: int
    batches: int
    records: int
    earliest_ms: int
    latest_ms: int
    codecs: dict[str, CodecSum]
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
    deep: RecordSums | None = None

    def __str__(self) -> str:
        """Return the numbers as a few lines."""
        span = f"{self.earliest_ms} to {self.latest_ms} ms" if self.latest_ms >= 0 else "no times"
        codecs = (
            f"{name} {each.batches:,} batches of {each.size:,} bytes"
            for name, each in self.codecs.items()
        )
        formats = (f"{name} {count:,}" for name, count in self.formats.items())
        largest = (f"{each.size:,} bytes at offset {each.base_offset}" for each in self.largest)
        told = {
            "batches": f"{self.batches:,} in {self.segments:,} segments of {self.size:,} bytes",
            "records": f"{self.records:,}, {span}",
            "codecs": _listed(codecs),
            "formats": _listed(formats),
            "producers": f"{self.producers:,}",
            "transactions": f"{self.transactions_open:,} open, "
            f"{self.transactions_committed:,} committed, {self.transactions_aborted:,} aborted",
            "largest": _listed(largest),
            "no batches": f"{self.skipped_bytes:,} bytes" if self.skipped_bytes else "",
            "not opened": f"{self.unopened_wrappers:,} wrappers" if self.unopened_wrappers else "",
            "deep": "" if self.deep is None else str(self.deep),
        }
        lines = [f"  {name}: {words}" for name, words in told.items() if words]
        return "\n".join([f"{self.path}", *lines])

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        return json.dumps(_as_json(self))


@dataclass(frozen=True, slots=True, kw_only=True)
class LogStat:
    """The numbers of each partition, and of all of them together."""

    partitions: tuple[LogSums, ...]
    total: LogSums

    def __str__(self) -> str:
        """Return each partition's numbers, and the total's if there are several."""
        shown = (*self.partitions, self.total) if len(self.partitions) > 1 else self.partitions
        return "\n".join(map(str, shown)) or "no partitions"

    def to_json(self) -> str:
        """Return the same as a JSON object."""
        partitions = [_as_json(each) for each in self.partitions]
        return json.dumps({"partitions": partitions, "total": _as_json(self.total)})


@dataclass(slots=True, kw_only=True)
class LogCounting:
    """Numbers while they are added up, of one log or, once others have joined it, of several."""

    is_deep: bool
    survey: Survey = field(default_factory=Survey)
    segments: int = 0
    size: int = 0
    skipped: int = 0
    committed: int = 0
    aborted: int = 0
    opened: int = 0
    largest: list[LargeBatch] = field(default_factory=list)
    producers: set[int] = field(default_factory=set)
    #: Whether the last that a producer did in a transaction leaves it open.
    acts: dict[int, bool] = field(default_factory=dict)

    def add(self, part: Stretch, path: str) -> None:
        """Take the batches of a pass that its sums do not stand for."""
        for batch in part.swept.batches:
            if batch.producer_id >= 0:
                self.producers.add(batch.producer_id)
            if batch.attributes & CONTROL_BIT:
                self._see_marker(batch, part.data)
            elif batch.attributes & TRANSACTIONAL_BIT:
                self.acts[batch.producer_id] = True
            if batch.size > self.survey.large:
                self._see_large(batch, path, part.position)

    def follow(self, other: "LogCounting") -> None:
        """Add the numbers of the part of the same log that comes next."""
        self._add(other)
        self.acts |= other.acts

    def join(self, other: "LogCounting") -> None:
        """Add the numbers of another log."""
        self._add(other)
        self.opened += other.open_count

    @property
    def open_count(self) -> int:
        """How many transactions are open at the end."""
        return self.opened + sum(self.acts.values())

    def _add(self, other: "LogCounting") -> None:
        self.survey.join(other.survey)
        self.segments += other.segments
        self.size += other.size
        self.skipped += other.skipped
        self.committed += other.committed
        self.aborted += other.aborted
        self.producers |= other.producers
        self.largest = sorted(self.largest + other.largest)[-LARGEST:]

    def sums(self, path: str, partition: str | None) -> LogSums:
        """Return the numbers."""
        survey = self.survey
        codecs = zip(Codec, survey.batches, survey.records, survey.bytes, strict=False)
        return LogSums(
            path=path,
            partition=partition,
            segments=self.segments,
            size=self.size,
            batches=sum(survey.batches),
            records=sum(survey.records),
            earliest_ms=survey.earliest,
            latest_ms=survey.latest,
            codecs={codec.kafka_name: CodecSum(*each) for codec, *each in codecs if each[0]},
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

    def _deep(self) -> RecordSums:
        survey = self.survey
        return RecordSums(
            keyless=survey.keyless,
            tombstones=survey.tombstones,
            key_bytes=survey.key_bytes,
            value_bytes=survey.value_bytes,
            headers=survey.headers,
            unpacked_size=survey.unpacked_bytes,
            ratio=sum(survey.bytes) / survey.unpacked_bytes if survey.unpacked_bytes else 1.0,
        )

    def _see_marker(self, batch: SweptBatch, data: memoryview) -> None:
        window = data[batch.position : batch.position + batch.size]
        header = read_header(window)
        assert header is not None, "a whole batch has a whole header"
        try:
            marker = ProducedBatch.of(header, window).marker
        except BadRecordsError:
            return
        if marker is not None:
            self.acts[batch.producer_id] = False
            self.committed += marker.is_commit
            self.aborted += not marker.is_commit

    def _see_large(self, batch: SweptBatch, path: str, start: int) -> None:
        _, position = batch.position, start + batch.position
        large = LargeBatch(batch.size, path, position, batch.base_offset, batch.last_offset)
        insort(self.largest, large)
        del self.largest[:-LARGEST]
        if len(self.largest) == LARGEST:
            self.survey.large = self.largest[0].size


def stat_of(counted: Iterable[tuple[str, LogCounting]], *, is_deep: bool) -> LogStat:
    """Return the numbers of logs, each at a path, and of all together."""
    total, found = LogCounting(is_deep=is_deep), []
    for path, counting in counted:
        partition = partition_of(path)
        found.append(counting.sums(path, None if partition is None else str(partition)))
        total.join(counting)
    return LogStat(partitions=tuple(found), total=total.sums("total", None))


def _as_json(sums: LogSums) -> dict[str, object]:
    named = replace(sums, codecs={}, largest=())
    found: dict[str, object] = asdict(named)
    found["codecs"] = {name: each._asdict() for name, each in sums.codecs.items()}
    found["largest"] = [each._asdict() for each in sums.largest]
    return found


def _listed(words: Iterable[str]) -> str:
    return ", ".join(words) or "none"

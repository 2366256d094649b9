"""Changes of a compacted random log under its certificate, and what the certificate states.

    log = read_log(files)              the batches of all segments
    certified(log, start, end)         records, producers, outcomes and markers of a range
    changed(log, kind, bounds, chance) a changed copy, None if the log has no place for the change
    log_files(log)                     the segments of a log

A certificate has to fit a log if and only if both have the same `certified` range.
"""

import random
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple, TypeAlias

from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, read_control
from cordwood.records.record_batch import RecordBatch
from tests.adversary.batch_bytes import (
    TRANSACTIONAL,
    BatchFacts,
    RecordContent,
    marker,
    old_messages,
    sealed,
    v2_batch,
)

#: The producer id, its epoch and the sequence of a batch or record without a producer.
_NONE: Final = (-1, -1, -1)


class Ending(NamedTuple):
    """The content of a marker."""

    is_commit: bool
    coordinator_epoch: int


@dataclass(frozen=True)
class LogBatch:
    """A batch of a log: its bytes, and what is in it; `ending` is None without a marker."""

    file: str
    data: bytes
    magic: int
    facts: BatchFacts
    records: tuple[RecordContent, ...]
    ending: Ending | None = None

    @property
    def is_data(self) -> bool:
        return self.ending is None and bool(self.records)

    def written(self, codec: Codec = Codec.NONE) -> "LogBatch":
        """Return the batch with bytes for its present content."""
        if self.ending is not None:
            time = self.records[0].timestamp
            data = marker(self.facts, is_commit=self.ending.is_commit, timestamp=time)
            epoch = struct.pack(">i", self.ending.coordinator_epoch)
            checked = data[21:-5] + epoch + data[-1:]
            data = sealed(self.facts.base_offset, self.facts.leader_epoch, checked)
        elif self.magic < 2:
            parts = old_messages(self.magic, codec, self.records)
            data = b"".join(each.data for each in parts)
        else:
            times = [each.timestamp for each in self.records]
            flags = self.facts.attributes & TRANSACTIONAL | codec
            facts = self.facts._replace(attributes=flags)
            data = v2_batch(facts, self.records, (times[0], max(times))).data
        return replace(self, data=data)


Log: TypeAlias = list[LogBatch]


def read_log(files: Mapping[str, bytes]) -> Log:
    """Return the batches of all segments."""
    names = sorted(name for name in files if name.endswith(".log"))
    return [_batch_of(name, each) for name in names for each in batches(files[name])]


def _batch_of(name: str, batch: AnyBatch) -> LogBatch:
    records = tuple(
        RecordContent(
            each.offset,
            each.timestamp,
            None if each.key is None else bytes(each.key),
            None if each.value is None else bytes(each.value),
            tuple((key, None if data is None else bytes(data)) for key, data in each.headers),
        )
        for each in batch.records()
    )
    if not isinstance(batch, RecordBatch):
        facts = BatchFacts(records[0].offset, batch.last_offset)
        return LogBatch(name, bytes(batch.data), bytes(batch.data)[16], facts, records)
    facts = BatchFacts(
        batch.base_offset,
        batch.last_offset,
        batch.partition_leader_epoch,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.attributes,
    )
    ending = None
    if batch.is_control and records:
        control = read_control(next(batch.records()))
        assert isinstance(control, EndTransaction), "random logs have no other control records"
        ending = Ending(control.is_commit, control.coordinator_epoch)
    return LogBatch(name, bytes(batch.data), 2, facts, records, ending)


def log_files(log: Iterable[LogBatch]) -> dict[str, bytes]:
    """Return the segments of a log, without indexes."""
    found: dict[str, bytes] = {}
    for each in log:
        found[each.file] = found.get(each.file, b"") + each.data
    return found


def certified(log: Log, start: int, end: int) -> object:
    """Return what a certificate of the range states, and the ends of its open transactions."""
    records = [state for each in log for state in _states(each, start, end)]
    markers: list[object] = []
    opened: set[int] = set()
    for each in log:
        facts = each.facts
        if each.ending is not None:
            if start <= facts.base_offset < end or facts.producer_id in opened:
                producer = (facts.producer_id, facts.producer_epoch)
                markers.append((facts.base_offset, producer, each.ending))
            opened.discard(facts.producer_id)
        elif facts.attributes & TRANSACTIONAL and any(_states(each, start, end)):
            opened.add(facts.producer_id)
    return records, markers


def _states(batch: LogBatch, start: int, end: int) -> Iterator[object]:
    """Yield each record of a range, its producer and its sequence."""
    if batch.ending is not None:
        return
    facts = batch.facts
    producer = (facts.producer_id, facts.producer_epoch, facts.attributes & TRANSACTIONAL)
    for record in batch.records:
        if start <= record.offset < end:
            ahead = record.offset - facts.base_offset
            yield record, producer, facts.base_sequence + ahead if facts.base_sequence >= 0 else -1


# -- changes


class Bounds(NamedTuple):
    """The range of a certificate."""

    start: int
    end: int

    def has(self, batch: LogBatch) -> bool:
        """Return whether all of a batch is in the range."""
        return self.start <= batch.facts.base_offset and batch.facts.last_offset < self.end


Change: TypeAlias = Callable[[LogBatch, random.Random], LogBatch | None]
Matches: TypeAlias = Callable[[LogBatch], bool]


def _is_data(batch: LogBatch) -> bool:
    return batch.is_data


def _is_v2_data(batch: LogBatch) -> bool:
    return batch.is_data and batch.magic == 2


def _has_producer(batch: LogBatch) -> bool:
    return _is_v2_data(batch) and batch.facts.producer_id >= 0


def _is_marker(batch: LogBatch) -> bool:
    return batch.ending is not None


def _record(change: Callable[[RecordContent], RecordContent]) -> Change:
    """Return a change of one record of a batch."""

    def changed_batch(batch: LogBatch, chance: random.Random) -> LogBatch:
        at = chance.randrange(len(batch.records))
        records = (
            *batch.records[:at],
            change(batch.records[at]),
            *batch.records[at + 1 :],
        )
        return replace(batch, records=records).written()

    return changed_batch


def _fact(**changes: int) -> Change:
    """Return a change that adds numbers to fields of a header."""

    def changed_batch(batch: LogBatch, _: random.Random) -> LogBatch:
        values = {name: getattr(batch.facts, name) + by for name, by in changes.items()}
        return replace(batch, facts=batch.facts._replace(**values)).written()

    return changed_batch


def _without_record(batch: LogBatch, chance: random.Random) -> LogBatch | None:
    at = chance.randrange(len(batch.records))
    records = batch.records[:at] + batch.records[at + 1 :]
    if not records:
        return None
    if batch.magic < 2:
        return replace(batch, records=records).written()
    return replace(batch, records=records).written()


def _more(batch: LogBatch, _: random.Random) -> LogBatch:
    """Append a record that a cleaner has removed: of the last one's key, at the end of a gap."""
    last = batch.records[-1]
    facts = batch.facts._replace(last_offset=max(batch.facts.last_offset, last.offset + 1))
    return replace(
        batch, facts=facts, records=(*batch.records, last._replace(offset=last.offset + 1))
    ).written()


def _transactional(batch: LogBatch, _: random.Random) -> LogBatch:
    flags = batch.facts.attributes ^ TRANSACTIONAL
    return replace(batch, facts=batch.facts._replace(attributes=flags)).written()


def _other_end(batch: LogBatch, _: random.Random) -> LogBatch:
    assert batch.ending is not None, "it is a marker"
    ending = batch.ending._replace(is_commit=not batch.ending.is_commit)
    return replace(batch, ending=ending).written()


def _coordinator(batch: LogBatch, _: random.Random) -> LogBatch:
    assert batch.ending is not None, "it is a marker"
    ending = batch.ending._replace(coordinator_epoch=batch.ending.coordinator_epoch + 1)
    return replace(batch, ending=ending).written()


def _nothing_left(_: LogBatch, __: random.Random) -> None:
    """Remove the batch."""


def _codec(batch: LogBatch, chance: random.Random) -> LogBatch:
    return batch.written(chance.choice(list(Codec) if batch.magic == 2 else [Codec.NONE]))


def _no_producer(batch: LogBatch, _: random.Random) -> LogBatch:
    facts = batch.facts._replace(
        producer_id=_NONE[0], producer_epoch=_NONE[1], base_sequence=_NONE[2], attributes=0
    )
    return replace(batch, facts=facts).written()


#: Changes of one batch of the certified range: the batches that can have it, and the change.
CHANGES: Final[dict[str, tuple[Matches, Change]]] = {
    "value": (_is_data, _record(lambda each: each._replace(value=(each.value or b"") + b"x"))),
    "tombstone": (_is_data, _record(lambda each: each._replace(value=None))),
    "key": (_is_data, _record(lambda each: each._replace(key=b"another"))),
    "no key": (_is_data, _record(lambda each: each._replace(key=None))),
    "timestamp": (
        lambda each: each.is_data and each.magic > 0,
        _record(lambda each: each._replace(timestamp=each.timestamp + 1)),
    ),
    "header": (
        _is_v2_data,
        _record(lambda each: each._replace(headers=(*each.headers, ("added", None)))),
    ),
    "record gone": (_is_data, _without_record),
    "record added": (_is_v2_data, _more),
    "batch gone": (_is_data, _nothing_left),
    "producer id": (_has_producer, _fact(producer_id=1)),
    "producer epoch": (_has_producer, _fact(producer_epoch=1)),
    "sequence": (_has_producer, _fact(base_sequence=1)),
    "no producer": (_has_producer, _no_producer),
    "transactional": (_has_producer, _transactional),
    "outcome": (_is_marker, _other_end),
    "coordinator epoch": (_is_marker, _coordinator),
    "producer of a marker": (_is_marker, _fact(producer_id=1)),
    "marker gone": (_is_marker, _nothing_left),
    "codec": (_is_data, _codec),
    "leader epoch": (_is_v2_data, _fact(leader_epoch=1)),
}
#: Changes of other batches or of files; they leave what is certified as it was.
HARMLESS: Final = frozenset({"codec", "leader epoch", "one segment", "behind the end"})
KINDS: Final = (*CHANGES, "one segment", "behind the end")


def changed(log: Log, kind: str, bounds: Bounds, chance: random.Random) -> Log | None:
    """Return a changed copy of a log, None if it has no place for the change."""
    if kind == "one segment":
        return [replace(each, file=log[0].file) for each in log]
    matches, change = CHANGES["value" if kind == "behind the end" else kind]
    is_behind = kind == "behind the end"
    places = [
        at
        for at, each in enumerate(log)
        if matches(each)
        and (each.facts.base_offset >= bounds.end if is_behind else bounds.has(each))
    ]
    if not places:
        return None
    at = chance.choice(places)
    new = change(log[at], chance)
    if kind == "record added" and new is not None:
        after = log[at + 1].facts.base_offset if at + 1 < len(log) else bounds.end
        if new.facts.last_offset >= min(after, bounds.end):
            return None
    return [*log[:at], *([] if new is None else [new]), *log[at + 1 :]]

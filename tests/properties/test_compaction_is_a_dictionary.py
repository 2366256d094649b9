"""Compaction, at any time and any number of times, leaves the values of a dictionary.

Logs grow at random: committed and aborted transactions, idempotent producers, tombstones, records
without keys, gaps, codecs, old formats. They are rolled, opened again, and cleaned while time
passes, with much memory and with little. After each pass the log has exactly the last record of
each key, and the tombstones before their horizon, as they were written. Records beyond the pass are
untouched.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record, TimestampType
from tests.unit.compaction.cleaned_log import CONFIG, CleanedLog
from tests.unit.compaction.compaction_samples import marker

#: So several groups: with little memory they are not rewritten together.
SMALL = replace(CONFIG, segment_bytes=1000)
NOW = 1_700_000_000_000
IDEMPOTENT = (1, 2)
TRANSACTIONAL = (3, 4)

keys = st.sampled_from([None, b"a", b"b", b"c", b"dd", b"e" * 20])
values = st.sampled_from([None, b"", b"1", b"2" * 30])
pairs = st.lists(st.tuples(keys, values), min_size=1, max_size=6)
times = st.integers(-1500, 1500)
magics = st.sampled_from([0, 1])
producers = st.sampled_from([None, *IDEMPOTENT, *TRANSACTIONAL])
gaps = st.sampled_from([0, 0, 0, 1, 5])
memories = st.sampled_from([200, 500, 1 << 20])


Pairs = list[tuple[bytes | None, bytes | None]]


class Shape(NamedTuple):
    """How a batch is made of its records."""

    codec: Codec
    time: int
    is_stamped: bool
    has_headers: bool


shapes = st.builds(Shape, st.sampled_from(Codec), times, st.booleans(), st.booleans())


@dataclass(slots=True)
class Written:
    """A record as it was written, and what has become of its transaction."""

    record: Record
    producer: int | None = None
    is_aborted: bool = False


def last_of_each_key(written: list[Written], end: int) -> dict[int, Record]:
    """The model: by offset, what is left of the records below an offset, tombstones included."""
    last: dict[bytes, Record] = {}
    for each in written:
        record = each.record
        if record.offset < end and record.key is not None and not each.is_aborted:
            last[record.key] = record
    return {record.offset: record for record in last.values()}


def records_of(data: bytes) -> dict[int, Record]:
    """Return the records of batches, without the fields that only v2 has."""
    records = [record for each in batches(data) if not each.is_control for record in each.records()]
    assert [each.offset for each in records] == sorted({each.offset for each in records})
    for each in records:
        each.timestamp_type = max(each.timestamp_type, TimestampType.CREATE_TIME)
    return {each.offset: each for each in records}


class CompactionMachine(RuleBasedStateMachine):
    """Drives both."""

    engine: Engine = PLAIN
    log_of: type[CleanedLog] = CleanedLog

    def __init__(self) -> None:
        super().__init__()
        self.cleaned = self.log_of(SMALL, engine=self.engine)
        self.written: list[Written] = []
        self.open: set[int] = set()
        self.sequences: dict[int, int] = {}
        self.horizons: dict[int, int] = {}
        self.old: set[int] = set()

    # -- the log grows

    @rule(words=pairs, shape=shapes, producer=producers, gap=gaps)
    def put(self, *, words: Pairs, shape: Shape, producer: int | None, gap: int) -> None:
        fields = BatchFields(
            base_offset=self.cleaned.log.bounds.log_end + gap,
            partition_leader_epoch=0,
            codec=shape.codec,
            log_append_time_ms=NOW + shape.time if shape.is_stamped else None,
        )
        if producer is not None:
            fields = self._of_producer(fields, producer, len(words))
        builder = BatchBuilder(fields)
        for step, (key, value) in enumerate(words):
            headers = [("h", value)] if shape.has_headers else []
            builder.append(key, value, timestamp=NOW + shape.time + 3 * step, headers=headers)
        self._append(bytes(builder.build()), producer if producer in TRANSACTIONAL else None)

    @rule(words=pairs, codec=st.sampled_from(list(Codec)[:4]), magic=magics, time=times)
    def put_old(self, *, words: Pairs, codec: Codec, magic: LegacyMagic, time: int) -> None:
        end = self.cleaned.log.bounds.log_end
        builder = LegacyBuilder(magic, base_offset=end, codec=codec)
        for step, (key, value) in enumerate(words):
            builder.append(key, value, timestamp=NOW + time + step if magic else -1)
        self.old |= set(range(end, end + len(words)))
        self._append(bytes(builder.build()), None)

    @precondition(lambda self: self.open)
    @rule(number=st.integers(0, 1), is_commit=st.booleans())
    def end_transaction(self, *, number: int, is_commit: bool) -> None:
        producer = sorted(self.open)[number % len(self.open)]
        self.open.remove(producer)
        end = self.cleaned.log.bounds.log_end
        self.cleaned.follow(marker(end, producer=producer, is_commit=is_commit))
        for each in self.written:
            if each.producer == producer:
                each.producer, each.is_aborted = None, not is_commit

    @rule()
    def roll(self) -> None:
        self.cleaned.log.roll()

    @rule()
    def open_again(self) -> None:
        self.cleaned.reopened()

    @rule(ms=st.sampled_from([1, 400, CONFIG.delete_retention_ms]))
    def wait(self, *, ms: int) -> None:
        self.cleaned.wait(ms)

    # -- and is cleaned

    @rule(memory=memories, buffer=st.sampled_from([100, 4096]))
    def clean(self, *, memory: int, buffer: int) -> None:
        self.cleaned.memory_bytes, self.cleaned.io_buffer_bytes = memory, buffer
        plan = self.cleaned.plan()
        if plan is None:
            return
        end = self.cleaned.clean().end

        found = records_of(self.cleaned.data)
        left = {offset: record for offset, record in found.items() if offset < end}
        model = last_of_each_key(self.written, end)
        self._forget_tombstones(model, left, plan.now_ms)
        assert left == model
        assert {offset: found[offset] for offset in found if offset >= end} == {
            each.record.offset: each.record for each in self.written if each.record.offset >= end
        }
        self._check_producers()

    def _of_producer(self, fields: BatchFields, producer: int, count: int) -> BatchFields:
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + count
        self.open |= {producer} & set(TRANSACTIONAL)
        return fields._replace(
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            is_transactional=producer in TRANSACTIONAL,
        )

    def _append(self, data: bytes, producer: int | None) -> None:
        self.cleaned.follow(data)
        self.written += [Written(record, producer) for record in records_of(data).values()]

    def _forget_tombstones(
        self, model: dict[int, Record], left: dict[int, Record], now_ms: int
    ) -> None:
        """Take out of the model the tombstones whose time had come before the pass."""
        for offset in [at for at, record in model.items() if record.value is None]:
            horizon = self.horizons.get(offset)
            is_due = horizon is not None and now_ms >= horizon
            may_be_due = offset in self.old and horizon is None
            if is_due or (may_be_due and offset not in left):
                del model[offset]
                self.horizons[offset] = 0
            else:
                self.horizons.setdefault(offset, now_ms + CONFIG.delete_retention_ms)

    def _check_producers(self) -> None:
        """Check that the log still has the state of each producer."""
        ends = {each.last_offset for each in self.cleaned.batches}
        states = self.cleaned.log.producers.producers.values()
        assert {each.last_offset for each in states if each.last_offset >= 0} <= ends


TestCompaction = CompactionMachine.TestCase
TestCompaction.settings = settings(stateful_step_count=40, deadline=None)

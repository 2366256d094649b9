"""Inputs of compaction for tests: records written as text, in batches, chunks and plans.

A word is a record: a key of one letter, then its value; `a-` is a tombstone, `-1` has no key.
"""

from array import array
from collections.abc import Mapping

from cordwood.compaction.engine.batch_retention import BatchRetention
from cordwood.compaction.engine.record_marks import Marks, set_bit
from cordwood.compaction.engine.segment_chunk import SegmentChunk
from cordwood.compaction.plan.cleaning_plan import CleaningPlan, LastRecord, SourceSegment
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields, emptied
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec
from cordwood.records.control_records import EndTransaction, control_batch
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record_batch import RecordBatch
from cordwood.storage.log_config import LogConfig

PARTITION = TopicPartition(TopicName("t"), PartitionId(0))
NOW = 1_700_000_000_000
RETENTION = 1000
HORIZON = NOW + RETENTION


def words(text: str) -> list[tuple[bytes | None, bytes | None]]:
    """Return keys and values."""
    return [
        (
            None if word[0] == "-" else word[:1].encode(),
            None if word[1:] == "-" else word[1:].encode(),
        )
        for word in text.split()
    ]


def batch(at: int, text: str, *, fields: BatchFields = NO_FIELDS, time: int = NOW) -> bytes:
    """Return a batch of these records from an offset on, a millisecond apart."""
    builder = BatchBuilder(fields._replace(base_offset=at))
    for step, (key, value) in enumerate(words(text)):
        builder.append(key, value, timestamp=time + step)
    return bytes(builder.build())


def sent(
    at: int,
    text: str,
    *,
    producer: int = 1,
    sequence: int = 0,
    is_transactional: bool = True,
) -> bytes:
    """Return a batch of a producer; by default it is transactional."""
    fields = BatchFields(
        producer_id=producer,
        producer_epoch=0,
        base_sequence=sequence,
        is_transactional=is_transactional,
    )
    return batch(at, text, fields=fields)


def marker(at: int, *, producer: int = 1, is_commit: bool, epoch: int = 0) -> bytes:
    """Return the batch that ends a transaction."""
    fields = BatchFields(base_offset=at, producer_id=producer, producer_epoch=epoch)
    return bytes(control_batch(EndTransaction(is_commit, 0), fields, timestamp=NOW))


def with_horizon(data: bytes, horizon_ms: int = HORIZON) -> bytes:
    """Return a batch that has a delete horizon, otherwise the same."""
    old = RecordBatch(data)
    fields = BatchFields.of(old)._replace(delete_horizon_ms=horizon_ms)
    builder = BatchBuilder(fields)
    for record in old.records():
        builder.append_record(record)
    return bytes(builder.build(last_offset=old.last_offset))


def empty(data: bytes) -> bytes:
    """Return a batch without its records."""
    return bytes(emptied(RecordBatch(data)))


def old(at: int, text: str, *, magic: LegacyMagic = 1, codec: Codec = Codec.NONE) -> bytes:
    """Return messages of an old format, or their compressed wrapper."""
    builder = LegacyBuilder(magic, base_offset=at, codec=codec)
    for step, (key, value) in enumerate(words(text)):
        builder.append(key, value, timestamp=NOW + step if magic else -1)
    return bytes(builder.build())


def chunk(
    *parts: bytes,
    retentions: Mapping[int, BatchRetention] | None = None,
    first_number: int = 0,
    modified_ms: int = 0,
) -> SegmentChunk:
    """Return batches as a chunk; retentions are given by the batch's number."""
    starts = [sum(map(len, parts[:number])) for number in range(len(parts))]
    given = sorted((retentions or {}).items())
    return SegmentChunk(
        b"".join(parts),
        0,
        first_number,
        array("q", [starts[number] for number, _ in given]),
        array("b", [retention for _, retention in given]),
        modified_ms,
    )


def marks(text: str) -> Marks:
    """Return marks: `x` is superseded, `o` is the latest, `t` is the latest and a tombstone."""
    found = Marks(len(text))
    for number, letter in enumerate(text):
        set_bit(found.latest, number, value=letter != "x")
        set_bit(found.tombstones, number, value=letter == "t")
    return found


def marked(found: Marks) -> str:
    """Return marks in letters; `d` for a tombstone that is not the latest."""
    letters = {(False, False): "x", (True, False): "o", (True, True): "t", (False, True): "d"}
    return "".join(
        letters[found.is_latest(number), found.is_tombstone(number)]
        for number in range(found.count)
    )


def plan(
    *,
    first_dirty: int = 0,
    end: int = 1 << 40,
    now_ms: int = NOW,
    last_records: Mapping[int, LastRecord] | None = None,
    legacy_horizon_ms: int = 0,
    groups: tuple[tuple[SourceSegment, ...], ...] = (),
) -> CleaningPlan:
    return CleaningPlan(
        partition=PARTITION,
        groups=groups,
        first_dirty=first_dirty,
        end=end,
        now_ms=now_ms,
        legacy_horizon_ms=legacy_horizon_ms,
        config=LogConfig(delete_retention_ms=RETENTION),
        last_records=last_records or {},
    )


def texts(data: bytes | bytearray | memoryview) -> list[str]:
    """Return the records of batches as words, each with its offset in front."""
    return [
        f"{record.offset}:{(record.key or b'-').decode()}{_value_text(record.value)}"
        for each in batches(data)
        if not each.is_control
        for record in each.records()
    ]


def only(data: bytes | bytearray | memoryview) -> AnyBatch:
    """Return the only batch of the output."""
    (found,) = batches(data)
    found.ensure_valid()
    return found


def _value_text(value: bytes | None) -> str:
    return "-" if value is None else value.decode()

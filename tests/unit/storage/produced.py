"""Record sets as producers send them, and what a leader makes of them."""

from cordwood.core.binary import crc32, crc32c
from cordwood.records.batch import RecordBatch
from cordwood.records.builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.compression import Codec, compress
from cordwood.records.inspect import PlainInspector
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record, TimestampType
from cordwood.records.stream import batches
from cordwood.storage.analysis import AppendInfo, analyze
from cordwood.storage.log_config import LogConfig
from cordwood.storage.origin import Origin
from cordwood.storage.validation import LeaderAppend, Validated, validate

NOW = 1_700_000_000_000
EPOCH = 7
TIMES = (NOW - 1, NOW + 1, NOW)
DEFAULTS = LogConfig()
STAMPING = LogConfig(message_timestamp_type=TimestampType.LOG_APPEND_TIME)
IDEMPOTENT = BatchFields(producer_id=9, producer_epoch=2, base_sequence=40)
TRANSACTIONAL = IDEMPOTENT._replace(is_transactional=True)


def v2(
    codec: Codec = Codec.NONE,
    *,
    fields: BatchFields = NO_FIELDS,
    times: tuple[int, ...] = TIMES,
    offsets: tuple[int, ...] = (),
    key: bytes | None = b"key",
) -> bytes:
    """Return a v2 batch of a record for each of the times."""
    builder = BatchBuilder(fields._replace(codec=codec))
    for step, timestamp in enumerate(times):
        offset = offsets[step] if offsets else None
        builder.append(key, b"value %d" % step, timestamp=timestamp, offset=offset)
    return bytes(builder.build())


def old(
    magic: LegacyMagic,
    codec: Codec = Codec.NONE,
    *,
    times: tuple[int, ...] = TIMES,
    offsets: tuple[int, ...] = (),
    key: bytes | None = b"key",
) -> bytes:
    """Return messages of v0 or v1, or the wrapper over them."""
    builder = LegacyBuilder(magic, codec=codec)
    for step, timestamp in enumerate(times):
        offset = offsets[step] if offsets else None
        builder.append(key, b"value %d" % step, timestamp=timestamp if magic else -1, offset=offset)
    return bytes(builder.build())


def wrapped(magic: LegacyMagic, inner: bytes) -> bytes:
    """Return a gzip wrapper over messages that need not be of its magic."""
    builder = LegacyBuilder(magic)
    builder.append(None, compress(Codec.GZIP, inner), timestamp=NOW if magic else -1)
    return patched(builder.build(), 17, b"\1")


def patched(data: bytes | bytearray, at: int, field: bytes) -> bytes:
    """Return one batch with other bytes at one place and a checksum that fits them."""
    out = bytearray(data)
    out[at : at + len(field)] = field
    if out[16] == 2:
        out[17:21] = crc32c(bytes(out[21:])).to_bytes(4)
    else:
        out[12:16] = crc32(bytes(out[16:])).to_bytes(4)
    return bytes(out)


def counted(last_delta: int, count: int) -> bytes:
    """Return a batch of three records whose header says otherwise."""
    data = patched(v2(), 23, last_delta.to_bytes(4, signed=True))
    return patched(data, 57, count.to_bytes(4, signed=True))


def analyzed(data: bytes | bytearray, origin: Origin = Origin.CLIENT) -> AppendInfo:
    """Return what the headers of a set say, as a leader of EPOCH reads it."""
    return analyze(data, origin, max_message_bytes=1 << 20, leader_epoch=EPOCH)


def appended(
    data: bytes, config: LogConfig = DEFAULTS, *, append: LeaderAppend | None = None
) -> Validated:
    """Return a set as a leader of EPOCH would write it; its first offset is 1000."""
    append = append or LeaderAppend(1000, EPOCH, NOW)
    buffer = bytearray(data)
    info = analyzed(buffer, append.origin)
    return validate(buffer, info, append=append, config=config, inspector=PlainInspector())


def records(validated: Validated) -> list[Record]:
    """Return the records of what is written, after their checksums have been looked at."""
    found = list(batches(validated.data))
    for batch in found:
        batch.ensure_valid()
    return [record for batch in found for record in batch.records()]


def offsets(validated: Validated) -> list[int]:
    """Return the offsets of what is written."""
    return [record.offset for record in records(validated)]


def only(validated: Validated) -> RecordBatch:
    """Return the one v2 batch of what is written."""
    (batch,) = batches(validated.data)
    assert isinstance(batch, RecordBatch)
    batch.ensure_valid()
    return batch

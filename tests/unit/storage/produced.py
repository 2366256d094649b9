"""Record sets of producers, and the sets that a leader writes."""

from cordwood.core.binary import crc32, crc32c
from cordwood.records.batch_builder import NO_FIELDS, BatchBuilder, BatchFields
from cordwood.records.batch_stream import batches
from cordwood.records.compression import Codec, compress
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record, TimestampType
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_checks import PlainInspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import LogConfig
from cordwood.storage.validation.log_validator import (
    ValidationParameters,
    ValidationResult,
    validate,
)
from cordwood.storage.validation.record_set_analysis import LogAppendInfo, analyze

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
    """Return a v2 batch with a record for each timestamp."""
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
    """Return a gzip wrapper over messages, perhaps of another magic."""
    builder = LegacyBuilder(magic)
    builder.append(None, compress(Codec.GZIP, inner), timestamp=NOW if magic else -1)
    return patched(builder.build(), 17, b"\1")


def patched(data: bytes | bytearray, at: int, field: bytes) -> bytes:
    """Return a batch with other bytes at one position and a matching checksum."""
    out = bytearray(data)
    out[at : at + len(field)] = field
    if out[16] == 2:
        out[17:21] = crc32c(bytes(out[21:])).to_bytes(4)
    else:
        out[12:16] = crc32(bytes(out[16:])).to_bytes(4)
    return bytes(out)


def counted(last_delta: int, count: int) -> bytes:
    """Return a batch of three records with other numbers in its header."""
    data = patched(v2(), 23, last_delta.to_bytes(4, signed=True))
    return patched(data, 57, count.to_bytes(4, signed=True))


def analyzed(data: bytes | bytearray, origin: AppendOrigin = AppendOrigin.CLIENT) -> LogAppendInfo:
    """Return the analysis of a set by a leader of EPOCH."""
    return analyze(data, origin, max_message_bytes=1 << 20, leader_epoch=EPOCH)


def appended(
    data: bytes, config: LogConfig = DEFAULTS, *, append: ValidationParameters | None = None
) -> ValidationResult:
    """Return a set as a leader of EPOCH would write it; its first offset is 1000."""
    append = append or ValidationParameters(1000, EPOCH, NOW)
    buffer = bytearray(data)
    info = analyzed(buffer, append.origin)
    return validate(buffer, info, append=append, config=config, inspector=PlainInspector())


def records(validated: ValidationResult) -> list[Record]:
    """Return the written records after a check of their checksums."""
    found = list(batches(validated.data))
    for batch in found:
        batch.ensure_valid()
    return [record for batch in found for record in batch.records()]


def offsets(validated: ValidationResult) -> list[int]:
    """Return the written offsets."""
    return [record.offset for record in records(validated)]


def only(validated: ValidationResult) -> RecordBatch:
    """Return the only written batch, of v2."""
    (batch,) = batches(validated.data)
    assert isinstance(batch, RecordBatch)
    batch.ensure_valid()
    return batch

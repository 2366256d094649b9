"""Validation of a record set and assignment of offsets on the leader (Kafka: `LogValidator`).

`record_set_analysis` has checked the headers. This module reads every record:

1. Shape: one batch, or uncompressed messages of v0 or v1; the same magic everywhere.
2. A v2 batch has records, and its offsets increase. A producer's batch has as many records as
   offsets, is not a control batch, and has a sequence if it has a producer id.
3. The target format can represent the batch: producer ids need v2.
4. Every record is valid (`records.record_checks`) and follows the topic's rules (`record_rules`).

Then the leader changes these fields in place. Only the attributes and the max timestamp are covered
by the checksum:

    v2      base offset, leader epoch, timestamp type, max timestamp
    v1      offset, timestamp type, timestamp; likewise in a wrapper
    v0      offset of an uncompressed message

Otherwise it rebuilds the set (`batch_rebuild`): for another codec or format, for v2 offsets with
gaps, for a v1 wrapper that does not count from 0, and for every v0 wrapper, which has absolute
offsets inside. An uncompressed control batch stays uncompressed under any topic configuration.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_builder import BatchFields
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.batch_stream import AnyBatch
from cordwood.records.compression import DEFAULT_LIMIT, Codec
from cordwood.records.format_conversion import ensure_can_be_written
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record import TimestampType
from cordwood.records.record_batch import MAGIC, RecordBatch
from cordwood.records.record_checks import BatchFacts, Inspector
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log_config import PRODUCER, LogConfig
from cordwood.storage.validation.batch_rebuild import Magic, rebuild
from cordwood.storage.validation.record_rules import RecordRules
from cordwood.storage.validation.record_set_analysis import (
    LogAppendInfo,
    ensure_size,
    max_timestamp_of,
)

UNCOMPRESSED: Final = "uncompressed"
#: Batches of the default `max.message.bytes` with a compression ratio of 64.
_UNCOMPRESSED_BYTES: Final = 64 * 1024 * 1024
_LARGEST_RATIO: Final = 16
_NONE: Final = -1


class ValidationParameters(NamedTuple):
    """The leader's parameters of an append: offset, epoch, time, origin and format."""

    first_offset: int
    leader_epoch: int
    now_ms: int
    origin: AppendOrigin = AppendOrigin.CLIENT
    magic: Magic = MAGIC


class ValidationResult(NamedTuple):
    """A record set to be written; `data` is the caller's own buffer unless `is_rebuilt`.

    `offset_of_max_timestamp` is the last offset of the batch with the max timestamp. The max
    timestamp and its offset may be -1; `log_append_time_ms` is -1 with producers' timestamps.
    """

    data: memoryview
    headers: tuple[BatchHeader, ...]
    max_timestamp: int
    offset_of_max_timestamp: int
    log_append_time_ms: int
    is_rebuilt: bool

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset


class _CheckedBatches(NamedTuple):
    """Batches that passed all checks, with the facts about their records."""

    batches: Sequence[AnyBatch]
    facts: Sequence[BatchFacts]


def validate(
    data: Buffer,
    info: LogAppendInfo,
    *,
    append: ValidationParameters,
    config: LogConfig,
    inspector: Inspector,
) -> ValidationResult:
    """Check a set that `analyze` has accepted, and assign offsets; `data` must be writable.

    If it raises, the set must not be written, and `data` is unchanged.
    """
    view = bytes_view(data)[: info.size]
    _ensure_shape(info)
    checked = _check(view, info, append=append, config=config, inspector=inspector)
    codec, level = _target(info, config)
    headers = info.headers
    if is_rebuilt := not _can_stay(info, checked.facts, codec=codec, magic=append.magic):
        fields = _fields(info.headers[0], append, config)._replace(codec=codec, level=level)
        view = memoryview(
            rebuild(checked.batches, checked.facts, fields=fields, magic=append.magic)
        )
        headers = _headers(view)
        for header in headers:
            ensure_size(header, config.max_message_bytes)
    elif not _is_assigned(headers, checked.facts, append, config):
        _assign(checked, append, config.message_timestamp_type)
        headers = _headers(view)
    return ValidationResult(
        view,
        headers,
        *max_timestamp_of(headers),
        log_append_time_ms=_NONE if _log_append_time_ms(append, config) is None else append.now_ms,
        is_rebuilt=is_rebuilt,
    )


def target_codec(config: LogConfig, source: Codec) -> tuple[Codec, int | None]:
    """Return the codec and level in which a topic stores a set of codec `source`; None: default."""
    if config.compression_type == PRODUCER:
        return source, None
    if config.compression_type == UNCOMPRESSED:
        return Codec.NONE, None
    codec = Codec.from_name(config.compression_type)
    levels = {
        Codec.GZIP: config.compression_gzip_level,
        Codec.LZ4: config.compression_lz4_level,
        Codec.ZSTD: config.compression_zstd_level,
    }
    return codec, levels.get(codec)


def uncompressed_limit(config: LogConfig) -> int:
    """Return the most bytes of the records of one batch; each thread that validates has as many.

    Kafka has no limit: it decompresses piece by piece.
    """
    return min(DEFAULT_LIMIT, max(_UNCOMPRESSED_BYTES, _LARGEST_RATIO * config.max_message_bytes))


# -- checks


def _ensure_shape(info: LogAppendInfo) -> None:
    """Reject an empty set, several batches of v2 or with compression, and mixed magics."""
    if not info.headers:
        raise InvalidRecordError("the record set has no batch", expected="at least 1", found=0)
    magic = info.headers[0].magic
    if len(info.headers) == 1:
        return
    if magic == MAGIC or info.source_codec is not Codec.NONE:
        raise InvalidRecordError(
            "a v2 or compressed record set has more than one batch",
            expected=1,
            found=len(info.headers),
        )
    for header in info.headers:
        if header.magic != magic:
            raise _place(header).invalid(
                "the magic differs from that of the first batch", expected=magic, found=header.magic
            )


def _check(
    view: memoryview,
    info: LogAppendInfo,
    *,
    append: ValidationParameters,
    config: LogConfig,
    inspector: Inspector,
) -> _CheckedBatches:
    """Check every batch and every record without a change."""
    rules = RecordRules(config, append.now_ms)
    found = [_batch(view, header) for header in info.headers]
    facts = []
    for batch, header in zip(found, info.headers, strict=True):
        if header.magic == MAGIC:
            _ensure_v2(header, append.origin)
        ensure_can_be_written(batch, append.magic)
        fact = inspector.inspect(batch, limit=uncompressed_limit(config))
        rules.ensure_valid(batch, header, facts=fact)
        facts.append(fact)
    return _CheckedBatches(found, facts)


def _ensure_v2(header: BatchHeader, origin: AppendOrigin) -> None:
    """Reject a header that contradicts itself, or that its origin may not write."""
    offsets = header.last_offset - header.base_offset + 1
    place, count = _place(header), header.record_count
    if offsets <= 0:
        raise place.invalid(
            "the last offset is below the base offset", expected="at least 1", found=offsets
        )
    if count <= 0:
        raise place.invalid("the batch has no records", expected="at least 1", found=count)
    if origin is not AppendOrigin.CLIENT:
        return
    if offsets != count:
        raise place.invalid(
            "the number of offsets differs from that of the records", expected=count, found=offsets
        )
    if header.is_control:
        raise place.invalid("a producer sent a control batch", expected="records", found="control")
    if header.has_producer_id and header.base_sequence < 0:
        raise place.invalid(
            f"the sequence of producer {header.producer_id} is negative",
            expected="at least 0",
            found=header.base_sequence,
        )


# -- assignment


def _target(info: LogAppendInfo, config: LogConfig) -> tuple[Codec, int | None]:
    """Return the codec of the stored set; an uncompressed control batch stays uncompressed."""
    if info.source_codec is Codec.NONE and info.headers[0].is_control:
        return Codec.NONE, None
    return target_codec(config, info.source_codec)


def _can_stay(
    info: LogAppendInfo, facts: Sequence[BatchFacts], *, codec: Codec, magic: Magic
) -> bool:
    """Return whether the bytes of the records can be stored unchanged."""
    if info.source_codec is not codec or info.headers[0].magic != magic:
        return False
    if magic == MAGIC or codec is Codec.NONE:
        return facts[0].is_sequential
    return magic > 0 and facts[0].is_sequential and facts[0].first_offset == 0


def _is_assigned(
    headers: Sequence[BatchHeader],
    facts: Sequence[BatchFacts],
    append: ValidationParameters,
    config: LogConfig,
) -> bool:
    """Return whether the one v2 batch of a set has the fields already that `_assign` would set."""
    header = headers[0]
    return (
        header.magic == MAGIC
        and header.base_offset == append.first_offset
        and header.partition_leader_epoch == append.leader_epoch
        and config.message_timestamp_type is TimestampType.CREATE_TIME
        and header.max_timestamp == facts[0].max_timestamp
        and not header.is_log_append_time
    )


def _assign(
    checked: _CheckedBatches, append: ValidationParameters, timestamp_type: TimestampType
) -> None:
    """Write offsets, leader epoch and timestamp into the batches in place."""
    offset = append.first_offset
    for batch, facts in zip(checked.batches, checked.facts, strict=True):
        offset += facts.record_count
        batch.set_last_offset(offset - 1)
        if isinstance(batch, RecordBatch):
            batch.set_partition_leader_epoch(append.leader_epoch)
        if batch.magic == 0:
            continue
        if timestamp_type is TimestampType.LOG_APPEND_TIME:
            batch.set_log_append_time(append.now_ms)
        else:
            batch.set_max_timestamp(facts.max_timestamp)


def _fields(header: BatchHeader, append: ValidationParameters, config: LogConfig) -> BatchFields:
    """Return the fields of a new header, except the codec."""
    return BatchFields(
        base_offset=append.first_offset,
        partition_leader_epoch=append.leader_epoch,
        log_append_time_ms=_log_append_time_ms(append, config),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )


def _log_append_time_ms(append: ValidationParameters, config: LogConfig) -> int | None:
    """Return the log append time; None if the topic uses producers' timestamps."""
    is_set = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    return append.now_ms if is_set else None


def _headers(view: memoryview) -> tuple[BatchHeader, ...]:
    """Read the headers of a set of whole batches."""
    headers = []
    position = 0
    while position < len(view):
        header = read_header(view, position)
        assert header is not None, "the set has whole batches only"
        headers.append(header)
        position = header.end
    return tuple(headers)


def _batch(view: memoryview, header: BatchHeader) -> AnyBatch:
    if header.magic == MAGIC:
        return RecordBatch(view, header.position)
    return LegacyBatch(view, header.position)


def _place(header: BatchHeader) -> BatchLocation:
    return BatchLocation(header.position, header.base_offset)

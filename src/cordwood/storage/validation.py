"""What a leader checks of a record set before it is written, and what it writes into it.

`analysis` has looked at the headers; here every record is read through, and offsets are given.

1. Shape: one batch, unless the set is uncompressed messages of v0 or v1; one magic in all of it.
2. A v2 batch holds records, and its offsets do not go back. From a producer it holds as many
   records as offsets, is no control batch, and has a sequence where it has a producer id.
3. The format that it is written in can say what it says: producer ids need v2.
4. Every record is sound (`records.inspect`), and allowed by the topic (`record_errors`).

Then the set is stored in place, its bytes as they came but for these, of which only the attributes
and the max timestamp are under the checksum:

    v2      base offset, leader epoch, timestamp type, max timestamp
    v1      offset, timestamp type, timestamp; of a wrapper likewise
    v0      offset, of messages that are not compressed

or it is built anew (`rebuild`): when codec or format are to be others, when v2 offsets have gaps,
when a v1 wrapper does not count from 0, and for every wrapper of v0, whose inside says absolute
offsets. A control batch that comes uncompressed stays so, whatever the topic says.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch import MAGIC, RecordBatch
from cordwood.records.builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.convert import ensure_can_be_written
from cordwood.records.header import BatchHeader, read_header
from cordwood.records.inspect import BatchFacts, Inspector
from cordwood.records.legacy import LegacyBatch
from cordwood.records.place import Place
from cordwood.records.record import TimestampType
from cordwood.records.stream import AnyBatch
from cordwood.storage.analysis import AppendInfo, ensure_size, max_timestamp_of
from cordwood.storage.log_config import PRODUCER, LogConfig
from cordwood.storage.origin import Origin
from cordwood.storage.rebuild import Magic, rebuild
from cordwood.storage.record_errors import RecordRules

UNCOMPRESSED: Final = "uncompressed"
_NONE: Final = -1


class LeaderAppend(NamedTuple):
    """What the leader gives to a set: where it goes, under which epoch, when, and from whom."""

    first_offset: int
    leader_epoch: int
    now_ms: int
    origin: Origin = Origin.CLIENT
    magic: Magic = MAGIC


class Validated(NamedTuple):
    """A set as it is to be written; `data` is the caller's own buffer unless `is_rebuilt`.

    `max_timestamp` and the last offset of the batch that has it are -1 where there is none, and so
    is `log_append_time_ms` where producers date their records.
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


class _Checked(NamedTuple):
    """Batches that are sound and allowed, with what their records say together."""

    batches: Sequence[AnyBatch]
    facts: Sequence[BatchFacts]


def validate(
    data: Buffer,
    info: AppendInfo,
    *,
    append: LeaderAppend,
    config: LogConfig,
    inspector: Inspector,
) -> Validated:
    """Check a set that `analyze` has taken, and give it offsets; `data` has to be writable.

    When it raises, nothing of the set may be written, and no byte of `data` has changed.
    """
    view = bytes_view(data)[: info.size]
    _ensure_shape(info)
    checked = _check(view, info, append=append, config=config, inspector=inspector)
    codec, level = _target(info, config)
    if is_rebuilt := not _can_stay(info, checked.facts, codec=codec, magic=append.magic):
        fields = _fields(info.headers[0], append, config)._replace(codec=codec, level=level)
        view = memoryview(
            rebuild(checked.batches, checked.facts, fields=fields, magic=append.magic)
        )
    else:
        _assign(checked, append, config.message_timestamp_type)
    headers = _headers(view)
    if is_rebuilt:
        for header in headers:
            ensure_size(header, config.max_message_bytes)
    return Validated(
        view,
        headers,
        *max_timestamp_of(headers),
        log_append_time_ms=_NONE if _stamp(append, config) is None else append.now_ms,
        is_rebuilt=is_rebuilt,
    )


def target_codec(config: LogConfig, source: Codec) -> tuple[Codec, int | None]:
    """Return the codec and the level that a topic stores what came in `source`; None: default."""
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


# -- checks


def _ensure_shape(info: AppendInfo) -> None:
    """Refuse a set that is not of one piece."""
    if not info.headers:
        raise InvalidRecordError("a record set without a batch", expected="at least 1", found=0)
    magic = info.headers[0].magic
    if len(info.headers) == 1:
        return
    if magic == MAGIC or info.source_codec is not Codec.NONE:
        raise InvalidRecordError(
            "more than one batch, of v2 or compressed", expected=1, found=len(info.headers)
        )
    for header in info.headers:
        if header.magic != magic:
            raise _place(header).invalid(
                "a batch of another magic than the first", expected=magic, found=header.magic
            )


def _check(
    view: memoryview,
    info: AppendInfo,
    *,
    append: LeaderAppend,
    config: LogConfig,
    inspector: Inspector,
) -> _Checked:
    """Check every batch and every record; nothing is changed."""
    rules = RecordRules(config, append.now_ms)
    found = [_batch(view, header) for header in info.headers]
    facts = []
    for batch, header in zip(found, info.headers, strict=True):
        if header.magic == MAGIC:
            _ensure_v2(header, append.origin)
        ensure_can_be_written(batch, append.magic)
        fact = inspector.inspect(batch)
        rules.ensure_kept(batch, header, facts=fact)
        facts.append(fact)
    return _Checked(found, facts)


def _ensure_v2(header: BatchHeader, origin: Origin) -> None:
    """Refuse a header that contradicts itself, or that its sender may not write."""
    offsets = header.last_offset - header.base_offset + 1
    place, count = _place(header), header.record_count
    if offsets <= 0:
        raise place.invalid("offsets that go back", expected="at least 1", found=offsets)
    if count <= 0:
        raise place.invalid("a batch without records", expected="at least 1", found=count)
    if origin is not Origin.CLIENT:
        return
    if offsets != count:
        raise place.invalid("as many offsets as records", expected=count, found=offsets)
    if header.is_control:
        raise place.invalid("a control batch from a producer", expected="records", found="control")
    if header.has_producer_id and header.base_sequence < 0:
        raise place.invalid(
            f"a sequence of producer {header.producer_id}",
            expected="at least 0",
            found=header.base_sequence,
        )


# -- what is written


def _target(info: AppendInfo, config: LogConfig) -> tuple[Codec, int | None]:
    """Return the codec that the set is stored in; what came uncompressed of control stays so."""
    if info.source_codec is Codec.NONE and info.headers[0].is_control:
        return Codec.NONE, None
    return target_codec(config, info.source_codec)


def _can_stay(info: AppendInfo, facts: Sequence[BatchFacts], *, codec: Codec, magic: Magic) -> bool:
    """Whether the bytes of the records are right as they came."""
    if info.source_codec is not codec or info.headers[0].magic != magic:
        return False
    if magic == MAGIC or codec is Codec.NONE:
        return facts[0].is_sequential
    return magic > 0 and facts[0].is_sequential and facts[0].first_offset == 0


def _assign(checked: _Checked, append: LeaderAppend, timestamp_type: TimestampType) -> None:
    """Write offsets, leader epoch and time into the batches where they lie."""
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


def _fields(header: BatchHeader, append: LeaderAppend, config: LogConfig) -> BatchFields:
    """Return what the header of a new batch says, beside the codec."""
    return BatchFields(
        base_offset=append.first_offset,
        partition_leader_epoch=append.leader_epoch,
        log_append_time_ms=_stamp(append, config),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        is_control=header.is_control,
    )


def _stamp(append: LeaderAppend, config: LogConfig) -> int | None:
    """Return the time that the log sets, where it sets any."""
    is_set = config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    return append.now_ms if is_set else None


def _headers(view: memoryview) -> tuple[BatchHeader, ...]:
    """Read the headers of a set that is whole."""
    headers = []
    position = 0
    while position < len(view):
        header = read_header(view, position)
        assert header is not None, "nothing of a set that is stored is cut off"
        headers.append(header)
        position = header.end
    return tuple(headers)


def _batch(view: memoryview, header: BatchHeader) -> AnyBatch:
    if header.magic == MAGIC:
        return RecordBatch(view, header.position)
    return LegacyBatch(view, header.position)


def _place(header: BatchHeader) -> Place:
    return Place(header.position, header.base_offset)

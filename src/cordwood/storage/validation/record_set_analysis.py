"""Analysis of a record set before an append (Kafka: `UnifiedLog.analyzeAndValidateRecords`).

One pass over headers and checksums makes these checks for each batch, in this order:

1. CLIENT, v2: the base offset is 0; the log assigns the real one.
2. All but REPLICATION: the received size is at most `max.message.bytes`.
3. The checksum is right; for a wrapper, only its own checksum is checked here.
4. The codec is known.

The set ends before an incomplete batch. On a follower it also ends before a batch with a later
leader epoch than the follower's: it fetches the rest after it has the new leader epoch. The epoch
of a RAFT_LEADER's batch is compared only at the write (`ensure_leader_epoch`): the log's own epoch
may change in between.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, MessageTooLargeError
from cordwood.records.batch_header import BatchHeader, ensure_crc, read_header
from cordwood.records.batch_location import BatchLocation
from cordwood.records.compression import Codec
from cordwood.records.record_batch import MAGIC
from cordwood.storage.append_origin import AppendOrigin

_NONE: Final = -1


class LogAppendInfo(NamedTuple):
    """The batches of a set that may be appended, with a summary (Kafka: `LogAppendInfo`).

    `size` is the number of their bytes: the caller drops the rest. `source_codec` is that of the
    last compressed batch. `offset_of_max_timestamp` is the last offset of the first batch with the
    maximum. Values are -1 for an empty set. `is_monotonic` matters to followers only: a leader
    assigns new offsets.
    """

    headers: tuple[BatchHeader, ...]
    size: int
    source_codec: Codec
    is_monotonic: bool
    max_timestamp: int
    offset_of_max_timestamp: int

    @property
    def first_offset(self) -> int:
        """The first offset; in v0 and v1 the last one of the first batch, as wrappers have it."""
        return self.headers[0].base_offset if self.headers else _NONE

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset if self.headers else _NONE


def analyze(
    data: Buffer, origin: AppendOrigin, *, max_message_bytes: int, leader_epoch: int = _NONE
) -> LogAppendInfo:
    """Return the batches of `data` that may be appended; raise at the first invalid batch.

    `leader_epoch` is that of a follower.
    """
    view = bytes_view(data)
    headers: list[BatchHeader] = []
    codec = Codec.NONE
    position = 0
    end = len(view)
    while position < end and (header := read_header(view, position)) and header.end <= end:
        if origin is AppendOrigin.REPLICATION and header.partition_leader_epoch > leader_epoch:
            break
        _check_base_offset(header, origin)
        if origin is not AppendOrigin.REPLICATION:
            ensure_size(header, max_message_bytes)
        ensure_crc(header, view[header.position : header.end])
        if header.codec_id:
            codec = BatchLocation(position, header.base_offset).codec(header.attributes)
        headers.append(header)
        position = header.end
    return LogAppendInfo(
        tuple(headers), position, codec, _is_monotonic(headers), *max_timestamp_of(headers)
    )


def max_timestamp_of(headers: Sequence[BatchHeader]) -> tuple[int, int]:
    """Return the maximum timestamp and the last offset of the first batch that has it."""
    latest, offset = _NONE, _NONE
    for header in headers:
        if header.max_timestamp > latest:
            latest, offset = header.max_timestamp, header.last_offset
    return latest, offset


def ensure_size(header: BatchHeader, max_message_bytes: int) -> None:
    """Reject a batch that is larger than `max.message.bytes`."""
    if header.size > max_message_bytes:
        raise MessageTooLargeError(
            f"the batch at position {header.position} has {header.size} bytes, more than"
            f" max.message.bytes ({max_message_bytes})"
        )


def ensure_leader_epoch(header: BatchHeader, leader_epoch: int) -> None:
    """Reject a batch whose writer has another leader epoch than the log."""
    if header.partition_leader_epoch != leader_epoch:
        raise _invalid(
            header, "the leader epoch is not the current one", leader_epoch,
            found=header.partition_leader_epoch,
        )  # fmt: skip


def _check_base_offset(header: BatchHeader, origin: AppendOrigin) -> None:
    if origin is AppendOrigin.CLIENT and header.magic == MAGIC and header.base_offset != 0:
        raise _invalid(
            header, "the base offset of a producer's batch is not 0", 0, found=header.base_offset
        )


def _is_monotonic(headers: Sequence[BatchHeader]) -> bool:
    """Return whether each batch ends at a higher offset than the one before."""
    last = _NONE
    for header in headers:
        if header.last_offset <= last:
            return False
        last = header.last_offset
    return True


def _invalid(header: BatchHeader, problem: str, expected: int, *, found: int) -> InvalidRecordError:
    place = BatchLocation(header.position, header.base_offset)
    return place.invalid(problem, expected=expected, found=found)

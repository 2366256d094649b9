"""What a record set says of itself before a log takes it: one pass over headers and checksums.

Of each batch, in this order:

1. RAFT_LEADER: its leader epoch is the present one.
2. CLIENT, v2: its base offset is 0; the log gives the real one.
3. All but REPLICATION: its size, as it was received, is no more than `max.message.bytes`.
4. Its checksum is right; of a wrapper only its own is looked at here.
5. Its codec is known.

The set ends where a batch is cut off. A follower also ends it where a batch has a later leader
epoch than it knows of: it will fetch the rest once it has learnt of that leader.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError, MessageTooLargeError
from cordwood.records.batch import MAGIC
from cordwood.records.compression import Codec
from cordwood.records.header import BatchHeader, ensure_crc, read_header
from cordwood.records.place import Place
from cordwood.storage.origin import Origin

_NONE: Final = -1


class AppendInfo(NamedTuple):
    """The batches of a set that may be taken, and what they say together; -1 where there is none.

    `size` is the bytes they fill: what follows is to be left out. `source_codec` is that of the
    last batch that is compressed. `offset_of_max_timestamp` is the last offset of the first batch
    that holds the maximum. A leader numbers the batches anew, so it need not look at
    `is_monotonic`; for a follower a set that is not cannot be right.
    """

    headers: tuple[BatchHeader, ...]
    size: int
    source_codec: Codec
    is_monotonic: bool
    max_timestamp: int
    offset_of_max_timestamp: int

    @property
    def first_offset(self) -> int:
        """The first offset, which a wrapper does not say: of v0 and v1 the first batch's last."""
        return self.headers[0].base_offset if self.headers else _NONE

    @property
    def last_offset(self) -> int:
        return self.headers[-1].last_offset if self.headers else _NONE

    @property
    def last_leader_epoch(self) -> int:
        return self.headers[-1].partition_leader_epoch if self.headers else _NONE


def analyze(
    data: Buffer, origin: Origin, *, max_message_bytes: int, leader_epoch: int
) -> AppendInfo:
    """Return what may be appended of `data`; raises at the first batch that may not."""
    view = bytes_view(data)
    headers: list[BatchHeader] = []
    codec = Codec.NONE
    position = 0
    while (header := read_header(view, position)) is not None and header.end <= len(view):
        if origin is Origin.REPLICATION and header.partition_leader_epoch > leader_epoch:
            break
        _ensure_sender(header, origin, leader_epoch)
        if origin is not Origin.REPLICATION:
            ensure_size(header, max_message_bytes)
        ensure_crc(header, view[header.position : header.end])
        if header.codec_id:
            codec = Place(position, header.base_offset).codec(header.attributes)
        headers.append(header)
        position = header.end
    return AppendInfo(
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
    """Refuse a batch that is larger than the topic allows."""
    if header.size > max_message_bytes:
        raise MessageTooLargeError(
            f"a batch of {header.size} bytes at position {header.position}, where"
            f" max.message.bytes is {max_message_bytes}"
        )


def _ensure_sender(header: BatchHeader, origin: Origin, leader_epoch: int) -> None:
    """Refuse what this kind of sender has to have set right."""
    if origin is Origin.RAFT_LEADER and header.partition_leader_epoch != leader_epoch:
        raise _refused(
            header, "a leader epoch that is not the present one", leader_epoch,
            found=header.partition_leader_epoch,
        )  # fmt: skip
    if origin is Origin.CLIENT and header.magic == MAGIC and header.base_offset != 0:
        raise _refused(header, "a base offset from a producer", 0, found=header.base_offset)


def _is_monotonic(headers: Sequence[BatchHeader]) -> bool:
    """Whether each batch ends at a later offset than the one before."""
    last = _NONE
    for header in headers:
        if header.last_offset <= last:
            return False
        last = header.last_offset
    return True


def _refused(header: BatchHeader, problem: str, expected: int, *, found: int) -> InvalidRecordError:
    place = Place(header.position, header.base_offset)
    return place.invalid(problem, expected=expected, found=found)

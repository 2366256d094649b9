"""Checks of one batch against its cleaned copy: allowed header changes, and surviving records.

    whole      every record survives and no horizon is new: the bytes are equal
    filtered   offsets, sequences, epochs, codec and timestamp type are equal; the max timestamp is
               that of the surviving records
    empty      the header alone, without codec and horizon

    horizon    kept once it is set; set by the pass when a tombstone survives for the first time,
               or a marker without data; never otherwise

A surviving batch of the old formats becomes v2. Fields that its old format lacks are -1.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

from cordwood.compaction.proof.batch_reader import LocatedBatch
from cordwood.core.types import NO_TIMESTAMP
from cordwood.records.batch_header import BatchHeader
from cordwood.records.compression import Codec
from cordwood.records.record import Record
from cordwood.records.record_batch import (
    CONTROL_BIT,
    DELETE_HORIZON_BIT,
    LOG_APPEND_TIME_BIT,
    MAGIC,
    TRANSACTIONAL_BIT,
)

_SAME: Final = (
    "base_offset",
    "last_offset",
    "partition_leader_epoch",
    "producer_id",
    "producer_epoch",
    "base_sequence",
)
_SAME_BITS: Final = {
    LOG_APPEND_TIME_BIT: "kind of timestamps",
    TRANSACTIONAL_BIT: "transactional bit",
    CONTROL_BIT: "control bit",
}
#: Bits without a meaning; a pass keeps them or clears them.
_UNUSED_BITS: Final = 0xFF80
_SAME_IN_RECORDS: Final = ("timestamp", "key", "value", "headers")
#: An old wrapper has no base offset.
_SAME_OF_EMPTY: Final = _SAME[1:]
#: The bytes of a key or a value that an error shows.
_SHOWN: Final = 40


class Difference(NamedTuple):
    """A difference from the required value; both sides as text."""

    what: str
    expected: str
    found: str


class SurvivingRecords(NamedTuple):
    """A batch's surviving records: their number, first and last offset, and max timestamp."""

    records: int = 0
    first_offset: int = -1
    last_offset: int = -1
    latest: int = NO_TIMESTAMP


def header_differences(
    before: LocatedBatch, after: LocatedBatch, *, left: SurvivingRecords, horizon_ms: int | None
) -> Iterator[Difference]:
    """Yield the wrong fields of a rewritten header; -1 and None mean absent."""
    was = before.header
    if was.magic < MAGIC and left.records:
        was = was._replace(base_offset=left.first_offset, last_offset=left.last_offset)
    for name in _SAME if before.header.magic == MAGIC or left.records else _SAME_OF_EMPTY:
        expected, found = getattr(was, name), getattr(after.header, name)
        if expected != found:
            what = f"the {name.replace('_', ' ')} of a batch has changed"
            yield Difference(what, str(expected), str(found))
    if after.header.magic != MAGIC:
        yield Difference("a batch has an old format", str(MAGIC), str(after.header.magic))
    yield from _changed_bits(was, after.header, is_empty=left.records == 0)
    has_horizon = after.header.attributes & DELETE_HORIZON_BIT
    horizon = after.header.base_timestamp if has_horizon else None
    if horizon != (horizon_ms if left.records else None):
        yield Difference("the delete horizon is wrong", str(horizon_ms), str(horizon))
    latest = was.max_timestamp if was.is_log_append_time or not left.records else left.latest
    if after.header.max_timestamp != latest:
        found = str(after.header.max_timestamp)
        yield Difference("the latest time is not that of the records", str(latest), found)


def record_differences(before: Record, after: Record) -> Iterator[Difference]:
    """Yield the changed fields of a record."""
    for name in _SAME_IN_RECORDS:
        was, now = getattr(before, name), getattr(after, name)
        if was != now:
            yield Difference(f"the {name} of a record has changed", _shown(was), _shown(now))


def _changed_bits(was: BatchHeader, found: BatchHeader, *, is_empty: bool) -> Iterator[Difference]:
    for bit, words in _SAME_BITS.items():
        expected, bits = was.attributes & bit, found.attributes & bit
        if expected != bits:
            yield Difference(f"the {words} of a batch has changed", str(expected), str(bits))
    unused, left = was.attributes & _UNUSED_BITS, found.attributes & _UNUSED_BITS
    if left not in {0, unused}:
        yield Difference("unused attribute bits of a batch are set", str(unused), str(left))
    codec = Codec.NONE if is_empty else was.codec_id
    if codec != found.codec_id:
        yield Difference("the codec of a batch has changed", str(codec), str(found.codec_id))


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"

"""Header of a wrapper: offsets, time and range of the messages inside it."""

from typing import NamedTuple

from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import InvalidRecordError
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.kernels.legacy_messages import last_message
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_message import read_message
from cordwood.records.record import TimestampType


class Wrapper(NamedTuple):
    """A wrapper whose value has been unpacked to `first` .. `end`."""

    position: int
    first: int
    end: int
    base: int
    highest: int
    stamp: int | None


def packed_messages(batch: LegacyBatch) -> memoryview:
    """Return the compressed value of a wrapper."""
    message = read_message(batch.view, batch.position, batch.end)
    if message.value is None:
        raise InvalidRecordError("a wrapper of nothing")
    return message.value


def open_wrapper(batch: LegacyBatch, source: Bytes, first: int, end: int) -> Wrapper:
    """Find what to add to the offsets inside and how high they may be."""
    count, last = last_message(source, first, end)
    offset = batch.last_offset
    is_stamped = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    stamp = batch.max_timestamp if is_stamped else None
    is_absolute = batch.magic == 0 or offset == 0
    if count < 1 or not (is_absolute or 0 <= last <= offset):
        raise InvalidRecordError("a wrapper whose inside cannot be right")
    if is_absolute:
        return Wrapper(batch.position, first, end, 0, INT64_MAX, stamp)
    return Wrapper(batch.position, first, end, offset - last, last, stamp)


def prepare(plan: Words, wrapper: Wrapper | None, end: int) -> None:
    """Write into a plan what holds for the messages of a wrapper, or for those of none."""
    plan[at.P_MESSAGES_END] = end
    plan[at.P_IS_WRAPPED] = wrapper is not None
    plan[at.P_BASE] = wrapper.base if wrapper else 0
    plan[at.P_HIGHEST] = wrapper.highest if wrapper else INT64_MAX
    plan[at.P_IS_STAMPED] = wrapper is not None and wrapper.stamp is not None
    plan[at.P_STAMP] = 0 if wrapper is None or wrapper.stamp is None else wrapper.stamp

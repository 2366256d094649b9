"""Batches of committed offsets, read in one pass (Kafka: `DefaultRecordBatch`, then the codec).

    record   length | attributes | time delta | offset delta | key length | key | value length ...
    key      0001 | group: i16 length, UTF-8 | topic: same | i32 partition
    value    0004 | i64 offset | i32 leader epoch | metadata: length + 1, UTF-8 | i64 commit time |
             00, or one tag: 01 00 10 and the topic id

Most batches of a load are uncompressed, outside of transactions, and have only such records. Here
consecutive commits of one group in one topic become one run, without a message for each of them. A
batch with any other record, or with damage, is left to the caller, which reads it with the codec.
"""

from struct import Struct, error
from typing import Final

from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.committed_run import CommittedRun
from cordwood.coordination.runtime.alike_commits import RecordPlaces, read_alike
from cordwood.coordination.runtime.offset_commit_reader import read_commit_value
from cordwood.core.types import NO_TIMESTAMP
from cordwood.core.uuids import NO_UUID
from cordwood.records.record_batch import LOG_APPEND_TIME_BIT, MAGIC

_BATCH: Final = Struct(">qiiBIhiqqqhii")
_BATCH_OVERHEAD: Final = 12
_MORE: Final = 0x80
_LOW_BITS: Final = 0x7F
_KEY_PREFIX: Final = b"\0\1"
_VALUE_PREFIX: Final = b"\0\4"
_NAME_AT: Final = 4
_PARTITION_BYTES: Final = 4
#: The end of a record without metadata from the partition on, with a topic id and without one: the
#: length of the value, its version, offset, epoch, metadata, time, tag, topic id, no headers.
_WITH_ID: Final = Struct(">i3sqi1sq3s16s1s")
_WITH_ID_FORM: Final = b"\x54\0\4\1\1\0\x10\0"
_WITHOUT_ID: Final = Struct(">i3sqi1sq2s")
_WITHOUT_ID_FORM: Final = b"\x30\0\4\1\0\0"


#: From this number on records are tried together.
_SEVERAL: Final = 4


class _OtherFormError(Exception):
    """A record is not a commit in the common form."""


def read_commit_batches(data: bytes, at: int, *, runs: list[CommittedRun]) -> int:
    """Append the commits of all batches from `at` on; return where the first other batch begins."""
    while (size := _read_batch(data, at, runs)) > 0:
        at += size
    return at


def _read_batch(data: bytes, at: int, runs: list[CommittedRun]) -> int:
    """Append the commits of one batch; return its size, 0 if it has another form."""
    if len(data) - at < _BATCH.size:
        return 0
    base_offset, size, _, magic, _, attributes, last, *_, count = _BATCH.unpack_from(data, at)
    end = at + _BATCH_OVERHEAD + size
    is_plain = magic == MAGIC and not attributes & ~LOG_APPEND_TIME_BIT
    if not is_plain or end > len(data) or base_offset < 0 or count <= 0:
        return 0
    try:
        found = _read_records(data[at + _BATCH.size : end], base_offset, count)
    except (_OtherFormError, IndexError, ValueError, error):
        return 0
    if found[-1].offset - base_offset > last:
        return 0
    _join(runs, found)
    return _BATCH_OVERHEAD + int(size)


def _join(runs: list[CommittedRun], found: list[CommittedRun]) -> None:
    """Append runs; the first one continues the last one of the batch before, if it can."""
    last, first = runs[-1] if runs else None, found[0]
    if last is None or (last.group_id, last.topic) != (first.group_id, first.topic):
        runs += found
        return
    last.offsets.update(first.offsets)
    last.offset = first.offset
    runs += found[1:]


def _read_records(data: bytes, base_offset: int, count: int) -> list[CommittedRun]:
    """Return the commits of a batch; raise if it has any other record, or if bytes are left."""
    runs, at, left = list[CommittedRun](), 0, count
    run, names = CommittedRun("", ""), b""
    lowest = base_offset
    while left:
        stop, delta, key_at, key_end = _read_head(data, at)
        place, offset = RecordPlaces(at, key_end - _PARTITION_BYTES, stop), base_offset + delta
        if offset < lowest:
            raise _OtherFormError
        if data[key_at : place.partition] != names or not runs:
            names = data[key_at : place.partition]
            run = CommittedRun(*_read_names(names))
            runs.append(run)
        partition, committed = _read_commit(data, place.partition, stop, offset)
        if run.offset < 0:
            run.first_ms = committed.commit_timestamp_ms
        run.offset = offset
        run.offsets[partition] = committed
        at, left = stop, left - 1
        if left >= _SEVERAL:
            alike = read_alike(data, place, run=run, base_offset=base_offset, most=left)
            at, left = at + alike * (stop - place.start), left - alike
        lowest = run.offset + 1
    if at != len(data):
        raise _OtherFormError
    return runs


def _read_head(data: bytes, at: int) -> tuple[int, int, int, int]:
    """Return the end of a record, its offset delta, and the bounds of its key."""
    length = data[at]
    if length >= _MORE:
        length, at = _second_byte(data, at)
    stop = at + 1 + (length >> 1)
    at += 2  # attributes have no meaning
    if data[at] >= _MORE:
        _, at = _second_byte(data, at)
    delta, at = data[at + 1], at + 1
    if delta >= _MORE:
        delta, at = _second_byte(data, at)
    size, at = data[at + 1], at + 1
    if size >= _MORE:
        size, at = _second_byte(data, at)
    if (length | delta | size) & 1:
        raise _OtherFormError
    return stop, delta >> 1, at + 1, at + 1 + (size >> 1)


def _second_byte(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of two bytes, still zigzag, and the position of the second one."""
    high = data[at + 1]
    if high >= _MORE:
        raise _OtherFormError
    return data[at] & _LOW_BITS | high << 7, at + 1


def _read_names(names: bytes) -> tuple[str, str]:
    """Return the group and the topic of a key, which ends with the partition after them."""
    topic_at = _NAME_AT + (names[2] << 8 | names[3])
    topic_end = topic_at + 2 + (names[topic_at] << 8 | names[topic_at + 1])
    if names[:2] != _KEY_PREFIX or topic_end != len(names):
        raise _OtherFormError
    return names[_NAME_AT:topic_at].decode(), names[topic_at + 2 :].decode()


def _read_commit(data: bytes, at: int, stop: int, offset: int) -> tuple[int, CommittedOffset]:
    """Return the partition at the end of a key, and the commit in the value after it."""
    if stop - at == _WITH_ID.size:
        partition, head, committed, epoch, size, time_ms, tag, topic_id, end = _WITH_ID.unpack_from(
            data, at
        )
        if head + size + tag + end == _WITH_ID_FORM:
            values = (committed, epoch, "", time_ms, NO_TIMESTAMP, topic_id, offset)
            return partition, CommittedOffset(*values)
    elif stop - at == _WITHOUT_ID.size:
        partition, head, committed, epoch, size, time_ms, end = _WITHOUT_ID.unpack_from(data, at)
        if head + size + end == _WITHOUT_ID_FORM:
            values = (committed, epoch, "", time_ms, NO_TIMESTAMP, NO_UUID, offset)
            return partition, CommittedOffset(*values)
    return _read_any_commit(data, at, stop, offset)


def _read_any_commit(data: bytes, at: int, stop: int, offset: int) -> tuple[int, CommittedOffset]:
    """Return a partition and its commit, which may have metadata."""
    value_at = at + _PARTITION_BYTES
    size = data[value_at]
    if size >= _MORE:
        size, value_at = _second_byte(data, value_at)
    value_at += 1
    end = value_at + (size >> 1)
    value = data[value_at:end]
    if size & 1 or end + 1 != stop or data[end] or value[:2] != _VALUE_PREFIX:
        raise _OtherFormError
    partition = int.from_bytes(data[at : at + _PARTITION_BYTES], signed=True)
    return partition, CommittedOffset.of(read_commit_value(value), offset)

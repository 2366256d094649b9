"""Batches with a right checksum, and whether their records can be read.

A checksum proves that the bytes are as they were written, and not that the fields agree. Kafka's
reader fails at a batch with a wrong record count, and reads nothing behind it. So such a batch is
not copied as it is:

    count     the records fill the batch exactly, in the order of offsets: the count is corrected
    records   some cannot be parsed: the batch is a damaged range, with those that can

Batches are checked many at a time, with their checksums. Only one that fails is checked alone.
"""

from struct import Struct
from typing import Final

from cordwood.core.binary import INT32_MAX, crc32c
from cordwood.core.errors import BadRecordsError
from cordwood.records.batch_checks import BatchChecker
from cordwood.records.batch_header import BatchHeader
from cordwood.records.batch_stream import AnyBatch, batch_at
from cordwood.records.record_batch import CRC_START, RecordBatch
from cordwood.workbench.file_window import FileWindow
from cordwood.workbench.salvage.record_rebuild import RebuiltBatch, count_records, rebuild_batch

#: Bytes that are checked at a time.
CHECK_BYTES: Final = 1 << 20

_COUNT: Final = Struct(">i")
_COUNT_AT: Final = 57
_CRC: Final = Struct(">I")
_CRC_AT: Final = 17


class ReadableBatches:
    """The batches of a file from a position on that are whole and readable."""

    __slots__ = ("_checked_to", "_checker", "_window")

    def __init__(self, window: FileWindow, checker: BatchChecker) -> None:
        self._window = window
        self._checker = checker
        self._checked_to = 0

    def has(self, position: int) -> bool:
        """Return whether a whole and readable batch begins here; positions ascend.

        False is also the answer for a batch that is larger than what is checked at a time.
        """
        if position >= self._checked_to:
            found = self._checker.check(self._window.view(position, CHECK_BYTES))
            self._checked_to = position + found.end
        return position < self._checked_to


def fault_of(batch: AnyBatch) -> BadRecordsError | None:
    """Return why the records cannot be read, None if they can; their size is not limited."""
    try:
        for _ in batch.records(limit=INT32_MAX):
            pass
    except BadRecordsError as error:
        return error
    return None


def with_right_count(data: bytes) -> bytes | None:
    """Return a v2 batch with the number of records that fill it; None if no number does."""
    batch = batch_at(data, 0)
    payload = None if batch is None else _unpacked(batch)
    if not isinstance(batch, RecordBatch) or payload is None:
        return None
    count = count_records(payload, batch.last_offset_delta)
    if count is None:
        return None
    out = bytearray(data)
    _COUNT.pack_into(out, _COUNT_AT, count)
    _CRC.pack_into(out, _CRC_AT, crc32c(memoryview(out)[CRC_START:]))
    return bytes(out)


def rebuild_readable(data: bytes, header: BatchHeader) -> RebuiltBatch | None:
    """Return the readable records of a batch with a right checksum, None without any."""
    batch = batch_at(data, 0)
    payload = None if batch is None else _unpacked(batch)
    return None if payload is None else rebuild_batch(memoryview(data), header, payload=payload)


def _unpacked(batch: AnyBatch) -> bytes | None:
    """Return the records' bytes of a v2 batch, None if they cannot be decompressed."""
    try:
        if isinstance(batch, RecordBatch):
            return bytes(batch.uncompressed(limit=INT32_MAX))
    except BadRecordsError:
        pass
    return None

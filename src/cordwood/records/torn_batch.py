"""Recognition of a torn batch whose values contain whole batches, as dumps of logs have them.

A crash may cut the last batch of a log within such a value, and so may a reader that is faster than
the write. A walk then finds the batches in it, as it would behind damage. The batch is torn, and
not damaged, if its sizes lead to the end of the file:

    v2       the records before the last one are whole; the last one is cut, and the sizes of its
             key and value agree with its own
    v0, v1   the sizes of key and value agree with that of the message

Compressed records show no sizes. So a batch that was found in them remains damage.
"""

from typing import Final

from cordwood.core.binary import Buffer, read_varint, read_varlong
from cordwood.core.errors import BytesError
from cordwood.records.batch_header import BatchHeader
from cordwood.records.legacy_message import KEY_AT
from cordwood.records.record_batch import HEADER_SIZE, MAGIC
from cordwood.records.v2_record import SMALLEST_BODY, read_v2_record

_NUMBER: Final = 4
_LONGEST_VARINT: Final = 10
#: Fewer bytes contain no batch.
_NO_BATCH: Final = HEADER_SIZE


def is_torn(data: Buffer, header: BatchHeader) -> bool:
    """Return whether bytes up to the end of a file are the begin of the batch with this header."""
    if header.size <= len(data) or header.codec_id:
        return False
    if header.magic == MAGIC:
        return _is_torn_v2(data, header)
    return _is_torn_message(data, header)


def _is_torn_v2(data: Buffer, header: BatchHeader) -> bool:
    at, size = HEADER_SIZE, len(data)
    try:
        for _ in range(header.record_count):
            if size - at < _NO_BATCH:
                return True
            length, start = read_varint(data, at, size)
            if start + length > size:
                return SMALLEST_BODY <= length <= header.size - start and _agrees(
                    data, start, start + length
                )
            at = read_v2_record(data, at, size).end
    except BytesError:
        return False
    return False


def _agrees(data: Buffer, start: int, stop: int) -> bool:
    """Return whether the sizes in a record lead to the end of the data, which is before `stop`."""
    size = len(data)
    at = start + 1
    try:
        _, at = read_varlong(data, at, size)
        _, at = read_varint(data, at, size)
        for _ in ("key", "value"):
            length, at = read_varint(data, at, size)
            at += max(length, 0)
        count, at = read_varint(data, at, size)
        for _ in range(2 * count):
            length, at = read_varint(data, at, size)
            at += max(length, 0)
    except BytesError:
        return size - _LONGEST_VARINT < at < stop
    return at == stop


def _is_torn_message(data: Buffer, header: BatchHeader) -> bool:
    at, end = KEY_AT[header.magic], header.size
    for _ in ("key", "value"):
        length = int.from_bytes(data[at : at + _NUMBER], signed=True)
        at += _NUMBER + max(length, 0)
    return at == end

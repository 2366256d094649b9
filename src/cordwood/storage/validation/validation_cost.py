"""Cost of a validation: whether it takes less than about 1 ms, so that an event loop may run it.

Measured on one core of 2.5 GHz, for whole sets:

    records, read in plain Python               5 us a record, 0.8 us a header of a record
    records, read by a kernel                   0.1 to 1 ms a MB
    decompression                               snappy, lz4: 1 ms a MB; zstd: 2; gzip: 3
    compression                                 snappy, lz4: 2 ms a MB; zstd: 5; gzip: 25;
                                                the highest levels: lz4 60, gzip 60, zstd 255
    conversion of v0 or v1, record by record    15 us a record

A set is small if all of these are within their limits:

    case                                 received    uncompressed    records
    compiled inspector                   256 KiB     256 KiB         1000
    plain inspector                      16 KiB      16 KiB          100
    rebuilt: other codec, offset gaps    8 KiB       8 KiB           100
    v0, v1, uncompressed                 2 KiB       2 KiB
    compressed, any of these             16 KiB      64 KiB
    v0, v1, compressed; several batches  never

A kernel could read more records within the time. But it leaves the error of an invalid batch to the
plain reader: 5 ms for 1000 records. A worker adds 0.2 ms to a validation, for the change of
threads: as much as a kernel takes for 256 KiB. A compressed set is walked block by block several
times, and a forged one has a block in every third byte: 4 ms a walk in 16 KiB. The uncompressed
size is the bound of the framing. Where that is too large, a limited decompression decides, since
gzip and most zstd writers do not bound a batch. Bytes that cannot be decompressed are not small; a
set without a valid header is rejected at once.
"""

from struct import Struct
from typing import Final, NamedTuple

from cordwood.core.errors import CordwoodError
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.batch_location import CODEC_BITS
from cordwood.records.compression import Codec, decompress_into, uncompressed_bound
from cordwood.records.legacy_message import LOG_OVERHEAD
from cordwood.records.record_batch import HEADER_SIZE, MAGIC
from cordwood.storage.log_config import PRODUCER, LogConfig
from cordwood.storage.validation.log_validator import UNCOMPRESSED, target_codec


class SmallSet(NamedTuple):
    """The limits of a small record set."""

    size: int
    records: int


COMPILED: Final = SmallSet(256 * 1024, 1000)
PLAIN: Final = SmallSet(16 * 1024, 100)
REBUILT: Final = SmallSet(8 * 1024, 100)
OLD_FORMAT: Final = 2 * 1024
PACKED: Final = 16 * 1024
UNPACKED: Final = 64 * 1024

#: The topic's compression types in which an uncompressed set stays so.
_UNCOMPRESSED: Final = frozenset({PRODUCER, UNCOMPRESSED})
#: Places in the header of a v2 batch.
_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_CODEC_AT: Final = 22
_LAST_DELTA_AT: Final = 23
_COUNT_AT: Final = 57
_I32: Final = Struct(">i")


def is_small(data: memoryview, config: LogConfig, *, is_compiled: bool) -> bool:
    """Return whether a set of a leader is validated in less than about 1 ms."""
    limits = COMPILED if is_compiled else PLAIN
    return _is_stored_unchanged(data, config, limits) or _is_within_limits(data, config, limits)


def _is_stored_unchanged(data: memoryview, config: LogConfig, limits: SmallSet) -> bool:
    """Return whether a set is a small uncompressed batch that is stored as it is: the usual case.

    Four fields decide that. A whole header takes twice as long to read.
    """
    if not HEADER_SIZE <= len(data) <= limits.size or data[_MAGIC_AT] != MAGIC:
        return False
    if data[_CODEC_AT] & CODEC_BITS or config.compression_type not in _UNCOMPRESSED:
        return False
    (length,) = _I32.unpack_from(data, _LENGTH_AT)
    (last_delta,) = _I32.unpack_from(data, _LAST_DELTA_AT)
    (count,) = _I32.unpack_from(data, _COUNT_AT)
    return bool(length + LOG_OVERHEAD == len(data) and last_delta + 1 == count <= limits.records)


def _is_within_limits(data: memoryview, config: LogConfig, limits: SmallSet) -> bool:
    try:
        header = read_header(data)
    except CordwoodError:
        return True
    if header is None or header.end > len(data):
        return True
    try:
        codec = Codec(header.codec_id)
    except ValueError:
        return False
    if header.magic != MAGIC:
        return codec is Codec.NONE and len(data) <= OLD_FORMAT
    if _is_rebuilt(header, codec, config):
        limits = REBUILT
    received, unpacked = limits.size, limits.size
    if codec is not Codec.NONE:
        received, unpacked = min(received, PACKED), min(unpacked, UNPACKED)
    if len(data) > received or header.record_count > limits.records:
        return False
    return header.end == len(data) and _is_within(codec, data[HEADER_SIZE:], unpacked)


def _is_rebuilt(header: BatchHeader, codec: Codec, config: LogConfig) -> bool:
    """Return whether the header alone shows that the batch is compressed or written again."""
    offsets = header.last_offset - header.base_offset + 1
    return target_codec(config, codec)[0] is not codec or offsets != header.record_count


def _is_within(codec: Codec, packed: memoryview, limit: int) -> bool:
    """Return whether records have at most this uncompressed size."""
    try:
        if uncompressed_bound(codec, packed) <= limit:
            return True
        return decompress_into(codec, packed, bytearray(limit), 0) is not None
    except CordwoodError:
        return False

"""Digest of rows: whether a replay has given a task the same rows as before.

    row       topic, key and value as two hashes of 31 bits, mixed to 64 bits
    task      sum of its rows' numbers, so that their order does not count

Timestamps, headers and chosen partitions are left out: the time of a write and the partition of a
row without a key are not the same in a replay.
"""

from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from cordwood.core.binary import Buffer, crc32c
from cordwood.records.record_encoder import RecordColumns, RecordEncoder
from cordwood.spark.runtime.arrow_scalars import integer_scalar

#: The largest prime of 31 bits: the number of partitions that a hash is taken for.
_HASHES: Final = (1 << 31) - 1
_MASK: Final = (1 << 63) - 1

#: Arithmetic of Arrow wraps at 64 bits.
_KEY_FACTOR: Final = integer_scalar(0x1E37_79B9_7F4A_7C15, pa.int64())
_VALUE_FACTOR: Final = integer_scalar(0x42B2_AE3D_27D4_EB4F, pa.int64())
_MIX_FACTOR: Final = integer_scalar(0x7F51_AFD7_ED55_8CCD, pa.int64())
_SHIFT: Final = integer_scalar(29, pa.int64())


def digest_of(topic: str, columns: RecordColumns, *, encoder: RecordEncoder) -> int:
    """Return the sum of the digests of rows, in 63 bits."""
    rows = len(columns.timestamps)
    if not rows:
        return 0
    seed = integer_scalar(crc32c(topic.encode()), pa.int64())
    keys = pc.add(_hashes(encoder.partitions(columns.keys, _HASHES), rows), seed)
    values = _hashes(encoder.partitions(columns.values, _HASHES), rows)
    mixed = pc.bit_wise_xor(pc.multiply(keys, _KEY_FACTOR), pc.multiply(values, _VALUE_FACTOR))
    mixed = pc.multiply(pc.bit_wise_xor(mixed, pc.shift_right(mixed, _SHIFT)), _MIX_FACTOR)
    return int(pc.sum(pc.bit_wise_xor(mixed, pc.shift_right(mixed, _SHIFT))).as_py()) & _MASK


def _hashes(buffer: Buffer, rows: int) -> pa.Array:
    return pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(buffer)])

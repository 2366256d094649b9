"""Numbers as varints hold them, written and measured."""

from cordwood.records.kernels.block import LOW_63, zigzagged
from cordwood.records.kernels.intrinsics import store_8
from cordwood.records.kernels.kernel_definition import Bytes, inlined

_LOW_57 = LOW_63 >> 6


@inlined
def put_number(slab: Bytes, to: int, number: int) -> int:
    """Write a number as varints are; returns the position after it."""
    raw = zigzagged(number)
    while raw < 0 or raw > 0x7F:
        store_8(slab, to, raw | 0x80)
        raw = (raw >> 7) & _LOW_57
        to += 1
    store_8(slab, to, raw)
    return to + 1


@inlined
def size_of_number(number: int) -> int:
    """How many bytes a number takes."""
    raw, size = zigzagged(number), 1
    while raw < 0 or raw > 0x7F:
        raw = (raw >> 7) & _LOW_57
        size += 1
    return size

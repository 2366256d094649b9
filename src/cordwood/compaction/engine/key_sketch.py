"""An estimate of the number of distinct keys: a HyperLogLog of their hashes.

    hash       PRECISION bits select a register; the other bits determine the rank
    rank       the position of the first bit that is set, from the upper end, starting with 1; one
               more than there are bits if none is set
    register   the largest rank of its hashes

A repeated key changes nothing, and the registers of two parts merge into those of both. The
estimate uses only the number of registers of each rank, by O. Ertl's estimator ("New cardinality
estimation algorithms for HyperLogLog sketches", 2017), which needs no correction tables.

Null is not a key. `add_keys` is the plain twin of the one in `kernels.key_sketch`.
"""

from collections.abc import Callable
from itertools import pairwise
from math import log, sqrt
from typing import Final, NamedTuple, TypeAlias

from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import Buffer, bytes_view

PRECISION: Final = 16
REGISTERS: Final = 1 << PRECISION
#: Bits of a hash that determine the rank.
RANKED: Final = 64 - PRECISION

#: The relative standard deviation of an estimate.
STANDARD_ERROR: Final = 1.04 / sqrt(REGISTERS)

_WHOLE_FACTOR: Final = 1 / (2 * log(2))

Registers: TypeAlias = bytes | bytearray


class PackedKeys(NamedTuple):
    """Keys end to end; `starts` are 32-bit positions, the last of them the end of the last key."""

    starts: Buffer
    data: Buffer


#: Adds keys to registers.
AddKeys: TypeAlias = Callable[[bytearray, PackedKeys], None]


def add_keys(registers: bytearray, packed: PackedKeys) -> None:
    """Add keys, one by one."""
    keys, bounds = bytes_view(packed.data), bytes_view(packed.starts).cast("i")
    for start, end in pairwise(bounds):
        hashed = key_hash(keys[start:end])
        register = hashed >> RANKED
        rank = RANKED + 1 - (hashed & ((1 << RANKED) - 1)).bit_length()
        registers[register] = max(registers[register], rank)


def merge_registers(first: Registers, second: Registers) -> bytes:
    """Return the registers of both parts together."""
    return bytes(map(max, first, second))


def estimate_distinct(registers: Registers) -> int:
    """Return the estimated number of distinct keys."""
    counts = [0] * (RANKED + 2)
    for rank in registers:
        counts[rank] += 1
    total = REGISTERS * _full(1 - counts[RANKED + 1] / REGISTERS)
    for rank in range(RANKED, 0, -1):
        total = (total + counts[rank]) / 2
    total += REGISTERS * _empty(counts[0] / REGISTERS)
    return round(_WHOLE_FACTOR * REGISTERS * REGISTERS / total)


def _empty(part: float) -> float:
    """Return the contribution of registers without a hash: the paper's sigma."""
    if part == 1:
        return float("inf")
    total, before, weight = part, -1.0, 1.0
    while total != before:
        part *= part
        before, total = total, total + part * weight
        weight *= 2
    return total


def _full(part: float) -> float:
    """Return the contribution of registers at the largest rank: the paper's tau."""
    if part in (0, 1):
        return 0.0
    total, before, weight = 1 - part, -1.0, 1.0
    while total != before:
        part = sqrt(part)
        weight /= 2
        before, total = total, total - (1 - part) ** 2 * weight
    return total / 3

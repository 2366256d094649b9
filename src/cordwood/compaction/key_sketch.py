"""About how many different keys there are, told from a few bytes: a HyperLogLog of their hashes.

    hash       PRECISION bits choose a register, the others are looked at from their upper end
    rank       the place of the first of these that is set, from 1; one more than there are if none
    register   the largest rank that it has seen

A key that comes again changes nothing, and sketches of two parts join into that of both. From how
many registers have each rank follows the number of keys, by O. Ertl's estimator ("New cardinality
estimation algorithms for HyperLogLog sketches", 2017), which needs no tables of corrections.

Null is no key. This module's `add_keys` is the plain twin of that in `kernels.sketching`.
"""

from collections.abc import Callable
from itertools import pairwise
from math import log, sqrt
from typing import Final, NamedTuple, TypeAlias

from cordwood.compaction.key_hash import key_hash
from cordwood.core.binary import Buffer, bytes_view

PRECISION: Final = 16
REGISTERS: Final = 1 << PRECISION
#: Bits of a hash that a rank is told by.
RANKED: Final = 64 - PRECISION

#: The standard deviation of an estimate, as a part of it.
STANDARD_ERROR: Final = 1.04 / sqrt(REGISTERS)

_WHOLE_FACTOR: Final = 1 / (2 * log(2))

Registers: TypeAlias = bytes | bytearray


class LaidKeys(NamedTuple):
    """Keys end to end; starts are numbers of 32 bits, the last of them the end of the last key."""

    starts: Buffer
    data: Buffer


#: Adds keys to registers.
AddKeys: TypeAlias = Callable[[bytearray, LaidKeys], None]


def add_keys(registers: bytearray, laid: LaidKeys) -> None:
    """Add keys, one by one."""
    keys, bounds = bytes_view(laid.data), bytes_view(laid.starts).cast("i")
    for start, end in pairwise(bounds):
        hashed = key_hash(keys[start:end])
        register = hashed >> RANKED
        rank = RANKED + 1 - (hashed & ((1 << RANKED) - 1)).bit_length()
        registers[register] = max(registers[register], rank)


def joined(first: Registers, second: Registers) -> bytes:
    """Return the registers of two parts together."""
    return bytes(map(max, first, second))


def estimate(registers: Registers) -> int:
    """Return about how many different keys have been added."""
    counts = [0] * (RANKED + 2)
    for rank in registers:
        counts[rank] += 1
    total = REGISTERS * _full(1 - counts[RANKED + 1] / REGISTERS)
    for rank in range(RANKED, 0, -1):
        total = (total + counts[rank]) / 2
    total += REGISTERS * _empty(counts[0] / REGISTERS)
    return round(_WHOLE_FACTOR * REGISTERS * REGISTERS / total)


def _empty(part: float) -> float:
    """Return what registers count that nothing has come to: the paper's sigma."""
    if part == 1:
        return float("inf")
    total, before, weight = part, -1.0, 1.0
    while total != before:
        part *= part
        before, total = total, total + part * weight
        weight *= 2
    return total


def _full(part: float) -> float:
    """Return what registers count that can rise no more: the paper's tau."""
    if part in (0, 1):
        return 0.0
    total, before, weight = 1 - part, -1.0, 1.0
    while total != before:
        part = sqrt(part)
        weight /= 2
        before, total = total, total - (1 - part) ** 2 * weight
    return total / 3

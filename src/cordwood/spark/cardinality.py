"""About how many different keys records have, and how far off that may be."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import pyarrow as pa

from cordwood.compaction.key_sketch import (
    REGISTERS,
    STANDARD_ERROR,
    AddKeys,
    LaidKeys,
    estimate,
    joined,
)

#: Bytes of a number that says where a key begins.
_START_SIZE: Final = 4


class Cardinality(NamedTuple):
    """About so many different keys; two estimates of three are not farther off than the error.

    The error is a part of the number: 0.004 is four of a thousand.
    """

    keys: int
    standard_error: float = STANDARD_ERROR


def sketch_keys(batches: Iterable[pa.RecordBatch], *, add: AddKeys) -> bytes:
    """Return the registers of the keys of batches with a column `key`; null is none."""
    registers = bytearray(REGISTERS)
    for batch in batches:
        keys = batch.column("key").drop_null()
        if len(keys):
            _, starts, data = keys.buffers()
            first, end = _START_SIZE * keys.offset, _START_SIZE * (keys.offset + len(keys) + 1)
            add(registers, LaidKeys(memoryview(starts)[first:end], data or b""))
    return bytes(registers)


def cardinality(sketches: Iterable[bytes]) -> Cardinality:
    """Return the estimate of several sketches together."""
    registers = bytes(REGISTERS)
    for sketch in sketches:
        registers = joined(registers, sketch)
    return Cardinality(estimate(registers))

"""Keys into the registers of a sketch: the kernel of `compaction.engine.key_sketch`."""

from typing import TYPE_CHECKING

import numpy as np

from cordwood.compaction.engine.key_sketch import RANKED, REGISTERS, PackedKeys
from cordwood.compaction.kernels.key_hashes import hash_of
from cordwood.records.kernels.arena import read_only
from cordwood.records.kernels.kernel_definition import NOTHING, SLAB, SOURCE, STARTS, Bytes, kernel
from cordwood.records.kernels.v2_record import is_inside

if TYPE_CHECKING:
    from numpy.typing import NDArray


@kernel(NOTHING, SLAB.of(REGISTERS), STARTS, SOURCE)
def _add(registers: Bytes, starts: "NDArray[np.int32]", data: Bytes) -> None:
    """Raise the register of each key to its rank."""
    for row in range(len(starts) - 1):
        start, end = int(starts[row]), int(starts[row + 1])
        if not is_inside(data, start, end):
            return
        hashed = hash_of(data, start, end - start, 0)
        register = (hashed >> RANKED) & (REGISTERS - 1)
        bit = RANKED - 1
        while bit >= 0 and (hashed >> bit) & 1 == 0:
            bit -= 1
        registers[register] = max(registers[register], RANKED - bit)


def add_keys(registers: bytearray, laid: PackedKeys) -> None:
    """Add keys; see `AddKeys`."""
    starts = np.frombuffer(laid.starts, np.int32)
    starts.flags.writeable = False
    _add(np.frombuffer(registers, np.uint8), starts, read_only(laid.data))

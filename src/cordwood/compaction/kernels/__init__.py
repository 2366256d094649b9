"""Compaction's kernels: survey, key map, rewrite and proof as machine code over buffers.

Their machine code is in the library of `records.kernels`. `engine` and `key_adder` return the plain
twins if there is none. An import of this package does not import numpy. May import `core`,
`records` with its kernels, and the rest of `compaction`.
"""

import sys
from typing import Final

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.key_sketch import AddKeys, add_keys
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records.kernels import has_kernels

__all__ = ["PARTS", "engine", "key_adder"]

#: The modules that have kernels: those that one process compiles, and those of the other one.
PARTS: Final = (
    (
        "key_learning",
        "key_collection",
        "key_map_resizing",
        "proof_batches",
        "proof_keys",
        "proof_rows",
    ),
    ("key_sketch", "batch_runs", "row_verdicts", "header_survey", "row_output"),
)

#: The pass size from which loading numpy pays.
PAYS_FROM: Final = 4 << 20


def engine(size: int) -> Engine:
    """Return an engine for a pass over `size` bytes: the fast one where it pays."""
    module = f"{__name__}.kernel_engine"
    if (size < PAYS_FROM and module not in sys.modules) or not has_kernels():
        return PLAIN
    from cordwood.compaction.kernels.kernel_engine import KERNELS  # noqa: PLC0415  # numpy: 0.1 s

    return KERNELS


def key_adder() -> AddKeys:
    """Return what adds keys to a sketch: the fast one if there are kernels, else the plain one."""
    if not has_kernels():
        return add_keys
    from cordwood.compaction.kernels import key_sketch  # noqa: PLC0415  # numpy: 0.1 s

    return key_sketch.add_keys

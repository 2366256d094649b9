"""Compaction's kernels: survey, key map, rewrite and proof as machine code over buffers.

They reach numba by the door of `records.kernels`. `engine` gives them once they are warm, and the
plain twins before: it loads and never compiles; `key_adder` does likewise. Importing this package
imports neither numba nor numpy. May import `core`, `records` with its kernels, and the rest of
`compaction`.
"""

import sys
from typing import Final

from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.key_sketch import AddKeys, add_keys
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.records.kernels import can_load

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

#: The pass size from which loading numba pays.
PAYS_FROM: Final = 4 << 20


def engine(size: int) -> Engine:
    """Return an engine for a pass over `size` bytes: the fast one when it is warm and pays."""
    module = f"{__name__}.kernel_engine"
    if (size < PAYS_FROM and module not in sys.modules) or not can_load(module):
        return PLAIN
    from cordwood.compaction.kernels.kernel_engine import KERNELS  # noqa: PLC0415  # numba: 0.3 s

    return KERNELS


def key_adder() -> AddKeys:
    """Return what adds keys to a sketch: the fast one when it is warm, else the plain one."""
    if not can_load(f"{__name__}.key_sketch"):
        return add_keys
    from cordwood.compaction.kernels import key_sketch  # noqa: PLC0415  # numba: 0.3 s

    return key_sketch.add_keys

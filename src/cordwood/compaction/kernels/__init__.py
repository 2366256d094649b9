"""Compaction's kernels: survey, key map and rewrite as machine code over buffers.

They reach numba by the door of `records.kernels`. `engine()` gives them once they are warm, and the
plain twins before: it loads and never compiles. Importing this package imports neither numba nor
numpy. May import `core`, `records` with its kernels, and the rest of `compaction`.
"""

from typing import Final

from cordwood.compaction.engine import Engine
from cordwood.compaction.plain import PLAIN
from cordwood.records.kernels import can_load

__all__ = ["PARTS", "engine"]

#: The modules that have kernels: those that one process compiles, and those of the other one.
PARTS: Final = (("resizing", "runs"), ("judging", "learning", "looking", "writing"))


def engine() -> Engine:
    """Return the fast engine when it is warm, else the plain one."""
    if not can_load(f"{__name__}.kernel_engine"):
        return PLAIN
    from cordwood.compaction.kernels.kernel_engine import KERNELS  # noqa: PLC0415  # numba: 0.3 s

    return KERNELS

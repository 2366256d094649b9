"""Compaction's kernels: the key map and the rewrite as machine code over buffers.

Like those of `records.kernels`, by whose door they reach numba: whoever asks gets them once they
are warm, and the plain twins before. Importing this package imports neither numba nor numpy. May
import `core`, `records` with its kernels, and the rest of `compaction`.
"""

from typing import Final

#: The modules that have kernels: those that one process compiles, and those of the other one.
PARTS: Final[tuple[tuple[str, ...], tuple[str, ...]]] = ((), ())

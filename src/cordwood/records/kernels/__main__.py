"""Compile every kernel, then say so in the cache: what `warm` runs in a child process."""

import sys
from pathlib import Path

from cordwood.records.kernels import cache


def main(place: Path) -> None:
    """Import what is decorated, which compiles it, and let the marker be written last."""
    if cache.is_sound(place):
        return  # another process was faster
    with cache.generation(place):
        import cordwood.records.kernels.kernel_decoder  # noqa: F401, PLC0415  # compiles as it is imported
        from cordwood.records.kernels.door import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

        if not IS_COMPILED:
            sys.exit("numba compiles nothing: its JIT is off, in .numba_config.yaml perhaps")


if __name__ == "__main__":
    main(Path(sys.argv[1]))

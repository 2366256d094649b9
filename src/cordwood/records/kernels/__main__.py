"""Compile every kernel, then say so in the cache: what `warm` runs in a child process.

    python -m cordwood.records.kernels FOLDER            all of them, in as many processes as parts
    python -m cordwood.records.kernels --part MADE NAME  one module, for the process above

Compiling takes a processor ten seconds and more, but parts do not wait for each other.
"""

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Final

from cordwood.records import kernels
from cordwood.records.kernels import cache

#: The modules that bring all kernels in, those that take longest first.
PARTS: Final = ("kernel_decoder", "lines", "sweep", "inspect")


def main(place: Path) -> None:
    """Compile every part beside the others, and let the marker be written last."""
    if cache.is_sound(place):
        return  # another process was faster
    with cache.generation(place) as made:
        command = [sys.executable, "-m", kernels.__name__, "--part", str(made)]
        others = [subprocess.Popen([*command, name]) for name in PARTS[1:]]  # noqa: S603  # ourselves
        try:
            compile_part(made, PARTS[0])
        finally:
            failed = [name for name, child in zip(PARTS[1:], others, strict=True) if child.wait()]
        if failed:
            sys.exit(f"the kernels of {', '.join(failed)} could not be compiled")


def compile_part(made: Path, name: str) -> None:
    """Import what is decorated, which compiles it."""
    with cache.compiling(made):
        import_module(f"{kernels.__name__}.{name}")
        from cordwood.records.kernels.door import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

        if not IS_COMPILED:
            sys.exit("numba compiles nothing: its JIT is off, in .numba_config.yaml perhaps")


if __name__ == "__main__":
    if sys.argv[1] == "--part":
        compile_part(Path(sys.argv[2]), sys.argv[3])
    else:
        main(Path(sys.argv[1]))

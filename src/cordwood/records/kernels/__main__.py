"""Compile every kernel, then say so in the cache: what `warm` runs in a child process.

    python -m cordwood.records.kernels FOLDER               all of them, in two processes
    python -m cordwood.records.kernels --part MADE NAME...  these modules, for the process above

Compiling takes a processor about ten seconds, and half of it waits for nothing of the other half.
More processes would each compile again what their kernels have in common, the reading of a record.
"""

import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from typing import Final

from cordwood.records import kernels
from cordwood.records.kernels import cache

#: The modules that have kernels, as each process compiles them.
OWN_PART: Final = ("fill",)
OTHER_PART: Final = ("scan", "castagnoli", "messages", "sweep", "stride", "lines", "inspect")


def main(place: Path) -> None:
    """Compile every part beside the others, and let the marker be written last."""
    if cache.is_sound(place):
        return  # another process was faster
    with cache.generation(place) as made:
        command = [sys.executable, "-m", kernels.__name__, "--part", str(made), *OTHER_PART]
        other = subprocess.Popen(command)  # noqa: S603  # ourselves
        try:
            compile_part(made, OWN_PART)
        finally:
            status = other.wait()
        if status:
            sys.exit(f"the kernels of {', '.join(OTHER_PART)} could not be compiled")


def compile_part(made: Path, names: Iterable[str]) -> None:
    """Import what is decorated, which compiles it."""
    with cache.compiling(made):
        for name in names:
            import_module(f"{kernels.__name__}.{name}")
        from cordwood.records.kernels.door import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

        if not IS_COMPILED:
            sys.exit("numba compiles nothing: its JIT is off, in .numba_config.yaml perhaps")


if __name__ == "__main__":
    if sys.argv[1] == "--part":
        compile_part(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(Path(sys.argv[1]))

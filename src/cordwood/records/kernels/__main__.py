"""Compile every kernel, then say so in the cache: what `warm` runs in a child process.

    python -m cordwood.records.kernels FOLDER               all of them, in two processes
    python -m cordwood.records.kernels --part MADE NAME...  these modules, for the process above

Compiling takes a processor a quarter of a minute, and half of it waits for nothing of the other
half. More processes would each compile again what their kernels have in common, the reading of a
record. Every package of kernels says in `PARTS` what each process compiles of it; which packages
there are is found where they lie, so this one need not know those above it.
"""

import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from cordwood.records import kernels
from cordwood.records.kernels import cache


def main(place: Path) -> None:
    """Compile every part beside the others, and let the marker be written last."""
    own, others = parts()
    with cache.alone(place):
        if not cache.is_sound(place):  # another process may have been faster
            compile_all(place, own, others)


def compile_all(place: Path, own: Iterable[str], others: Iterable[str]) -> None:
    """Compile one part here and the other in a process beside."""
    with cache.generation(place) as made:
        command = [sys.executable, "-m", kernels.__name__, "--part", str(made), *others]
        other = subprocess.Popen(command)  # noqa: S603  # ourselves
        try:
            compile_part(made, own)
        finally:
            status = other.wait()
        if status:
            sys.exit(f"the kernels of {', '.join(others)} could not be compiled")


def parts() -> tuple[list[str], list[str]]:
    """Name the modules that have kernels, as each process compiles them."""
    own: list[str] = []
    others: list[str] = []
    for folder in cache.packages():
        package = import_module(f"cordwood.{folder.parent.name}.{folder.name}")
        for modules, names in zip((own, others), package.PARTS, strict=True):
            modules += [f"{package.__name__}.{name}" for name in names]
    return own, others


def compile_part(made: Path, modules: Iterable[str]) -> None:
    """Import what is decorated, which compiles it."""
    with cache.compiling(made):
        for module in modules:
            import_module(module)
        from cordwood.records.kernels.door import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

        if not IS_COMPILED:
            sys.exit("numba compiles nothing: its JIT is off, in .numba_config.yaml perhaps")


if __name__ == "__main__":
    if sys.argv[1] == "--part":
        compile_part(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(Path(sys.argv[1]))

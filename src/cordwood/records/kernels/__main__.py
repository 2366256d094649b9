"""Compilation of every kernel into the cache, in the child process of `warm`.

    python -m cordwood.records.kernels FOLDER               all of them, in two processes
    python -m cordwood.records.kernels --part MADE NAME...  these modules, for the process above

The compilation takes fifteen seconds of one processor, and its halves are independent. More
processes would each compile the common part again, the reading of a record. Every package of
kernels lists the modules of each process in `PARTS`. The packages are found by their folders, so
this module does not import those above it.
"""

import subprocess
import sys
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path

from cordwood.records import kernels
from cordwood.records.kernels import kernel_cache


def main(place: Path) -> None:
    """Compile every part in parallel, and write the marker last."""
    own, others = parts()
    with kernel_cache.alone(place):
        if not kernel_cache.is_sound(place):  # another process may have finished first
            compile_all(place, own, others)


def compile_all(place: Path, own: Iterable[str], others: Iterable[str]) -> None:
    """Compile one part here and the other in a second process."""
    with kernel_cache.generation(place) as made:
        command = [sys.executable, "-m", kernels.__name__, "--part", str(made), *others]
        other = subprocess.Popen(command)  # noqa: S603  # ourselves
        try:
            compile_part(made, own)
        finally:
            status = other.wait()
        if status:
            sys.exit(f"the kernels of {', '.join(others)} could not be compiled")


def parts() -> tuple[list[str], list[str]]:
    """Return the names of the modules with kernels, per process."""
    own: list[str] = []
    others: list[str] = []
    for folder in kernel_cache.packages():
        package = import_module(f"cordwood.{folder.parent.name}.{folder.name}")
        for modules, names in zip((own, others), package.PARTS, strict=True):
            modules += [f"{package.__name__}.{name}" for name in names]
    return own, others


def compile_part(made: Path, modules: Iterable[str]) -> None:
    """Import the decorated functions, which compiles them."""
    with kernel_cache.compiling(made):
        for module in modules:
            import_module(module)
        from cordwood.records.kernels.kernel_definition import IS_COMPILED  # noqa: PLC0415  # numba: 0.3 s

        if not IS_COMPILED:
            sys.exit("numba compiles nothing: its JIT is off, in .numba_config.yaml perhaps")


if __name__ == "__main__":
    if sys.argv[1] == "--part":
        compile_part(Path(sys.argv[2]), sys.argv[3:])
    else:
        main(Path(sys.argv[1]))

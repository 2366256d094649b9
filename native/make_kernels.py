"""Compilation of all kernels into one library, the extension module `_machine`.

    python -m native.make_kernels LIBRARY [--if-stale] [--target NAME] [--modules NAME...]
                                          [--sanitize]

    LIBRARY     the file, such as src/cordwood/records/kernels/_machine.abi3.so
    --if-stale  only if there is no library for this machine that was made from this tree
    --target    a processor and a system as zig names them (aarch64-linux-gnu.2.17); this machine
    --modules   the modules with kernels; those of all packages of kernels
    --sanitize  with the address sanitizer, whose library the process has to preload; needs zig, gcc

numba, llvmlite and a C compiler are needed here, and only here: `cc`, else zig from the wheel
`ziglang`. Two processes translate a half of the modules each, since that takes most of the time.

    functions --numba--> LLVM's code --LLVM--> an object for each level --C compiler--> library
                                               machine.c, kernels.inc ----^
"""

import argparse
import os
import subprocess
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from native.c_compiler import link
from native.fingerprint import HERE, ROOT, SOURCES, fingerprint, kernel_packages
from native.library_file import is_current
from native.library_table import table_code
from native.targets import LEVELS, Target, target_named, this_processor

if TYPE_CHECKING:
    from native.kernel_code import KernelCode


def main(arguments: list[str]) -> None:
    """Make the library, or a part of its code for the process above."""
    parser = argparse.ArgumentParser(prog="native.make_kernels")
    parser.add_argument("file", type=Path)
    parser.add_argument("--if-stale", action="store_true")
    parser.add_argument("--target", default="")
    parser.add_argument("--modules", nargs="+", default=[])
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--code", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.if_stale and not given.target and is_current(given.file):
        return
    target = target_named(given.target)
    prepare()
    if given.code:
        from native.kernel_code import make_code, write_code  # noqa: PLC0415  # after `prepare`

        write_code(make_code(given.modules, processor=target.processor), given.file)
    else:
        halves = [given.modules] if given.modules else parts()
        make_library(given.file, target, halves=halves, is_sanitized=given.sanitize)


def prepare() -> None:
    """Set numba to the lowest level of this processor, before it is imported.

    Other settings of numba, such as NUMBA_OPT, would make another library of the same fingerprint.
    """
    lowest = LEVELS[this_processor()][0]
    for name in [each for each in os.environ if each.startswith("NUMBA_")]:
        del os.environ[name]
    os.environ |= {
        "CORDWOOD_KERNELS": "interpreted",
        "NUMBA_CPU_NAME": lowest.cpu,
        "NUMBA_CPU_FEATURES": lowest.features,
        "NUMBA_DISABLE_JIT": "0",
    }
    sys.path.insert(0, str(SOURCES))


def parts() -> list[list[str]]:
    """Return the names of the modules with kernels, per process."""
    halves: list[list[str]] = [[], []]
    for package in kernel_packages():
        for half, names in zip(halves, import_module(package).PARTS, strict=True):
            half += [f"{package}.{name}" for name in names]
    return halves


def make_library(
    library: Path, target: Target, *, halves: list[list[str]], is_sanitized: bool = False
) -> None:
    """Make the library of these modules."""
    from native import kernel_objects  # noqa: PLC0415  # after `prepare`
    from native.kernel_code import joined  # noqa: PLC0415  # after `prepare`

    code_of_level = kernel_objects.object_code
    if is_sanitized:
        code_of_level = kernel_objects.sanitized_object_code

    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        text, rows = joined(code_of(halves, target, place))
        table = table_code(rows, target.levels, fingerprint=fingerprint())
        (place / "kernels.inc").write_text(table, encoding="utf-8")
        objects = [place / f"{level.name}.o" for level in target.levels]
        for level, file in zip(target.levels, objects, strict=True):
            file.write_bytes(code_of_level(text, level, target))
        inputs = [HERE / "machine.c", *objects]
        link(library, inputs, target=target, include=place, is_sanitized=is_sanitized)
    print(f"{library}: {len(rows)} kernels, {library.stat().st_size:,} bytes", flush=True)


def code_of(halves: list[list[str]], target: Target, place: Path) -> "list[KernelCode]":
    """Return the code of each half; the first is made here, the others in processes."""
    from native.kernel_code import make_code, read_code  # noqa: PLC0415  # after `prepare`

    own, *others = halves
    files = [place / f"{number}.json" for number, _ in enumerate(others)]
    named = ["--target", target.zig_name] if target.is_foreign else []
    commands = [
        [
            sys.executable,
            "-m",
            "native.make_kernels",
            str(file),
            "--code",
            *named,
            "--modules",
            *half,
        ]
        for file, half in zip(files, others, strict=True)
    ]
    running = [subprocess.Popen(command, cwd=ROOT) for command in commands]
    code = [make_code(own, processor=target.processor)]
    for process, half in zip(running, others, strict=True):
        if process.wait():
            raise SystemExit(f"kernels: no code of {', '.join(half)}")
    return code + [read_code(file) for file in files]


if __name__ == "__main__":
    main(sys.argv[1:])

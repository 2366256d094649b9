"""C compiler of the library: the system's if it works, else zig's, which is a wheel.

python -m native.c_compiler     the status is 0 if there is one, else 1
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from native.targets import Target

SANITIZER: Final = "-fsanitize=address"
ZIG: Final = (sys.executable, "-m", "ziglang", "cc")
_FLAGS: Final = ("-O2", "-fPIC", "-shared", "-fvisibility=hidden", "-s", "-Wall", "-Wextra")
_ERRORS: Final = ("-Werror=implicit-function-declaration", "-Werror=incompatible-pointer-types")
_PROBE: Final = "#include <stdint.h>\n#include <stdlib.h>\n#include <string.h>\nint probe;\n"


def system_compiler() -> list[str]:
    """Return the command of a compiler of this system that makes libraries; empty without one."""
    named = os.environ.get("CC", "").split()
    for command in [named] if named else [["cc"], ["gcc"], ["clang"]]:
        if shutil.which(command[0]) and makes_libraries(command):
            return command
    return []


def makes_libraries(command: list[str]) -> bool:
    """Return whether a compiler works: one without the C library's headers exists, too."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "probe.c")
        source.write_text(_PROBE, encoding="utf-8")
        whole = [*command, "-shared", "-fPIC", "-o", str(source.with_suffix(".so")), str(source)]
        return subprocess.run(whole, capture_output=True, check=False).returncode == 0


def compiler_for(target: Target) -> list[str]:
    """Return the command of the compiler for a target."""
    if target.is_foreign:
        return [*ZIG, "-target", target.zig_name]
    return system_compiler() or list(ZIG)


def link(
    library: Path,
    inputs: Iterable[Path],
    *,
    target: Target,
    include: Path,
    is_sanitized: bool = False,
) -> None:
    """Compile and link the inputs into a library, which replaces an older one as a whole."""
    library.parent.mkdir(parents=True, exist_ok=True)
    unfinished = library.with_name(f"{library.name}.{os.getpid()}.unfinished")
    command = [*compiler_for(target), *_FLAGS, *_ERRORS, f"-I{include}"]
    command.append(f"-DLEVELS={len(target.levels)}")
    command += ["-undefined", "dynamic_lookup"] if target.is_mac else []
    command += [SANITIZER] if is_sanitized else []
    try:
        subprocess.run([*command, "-o", str(unfinished), *map(str, inputs)], check=True)
        unfinished.replace(library)
    finally:
        unfinished.unlink(missing_ok=True)


def has_compiler() -> bool:
    """Return whether this system, or this environment of Python, has a compiler."""
    return bool(system_compiler()) or importlib.util.find_spec("ziglang") is not None


if __name__ == "__main__":
    sys.exit(not has_compiler())

"""Fingerprint of a library of kernels: a hash of everything that it is made of.

It covers the bytes of the sources, not their places or times, the constants that kernels import
from other modules, and the version of numba. So a library fits a source tree if its fingerprint
equals that of the tree.

    python -m native.fingerprint           print that of this tree
"""

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
SOURCES: Final = ROOT / "src"
HERE: Final = ROOT / "native"
_CODE: Final = frozenset({".py", ".c", ".h"})


def kernel_packages() -> list[str]:
    """Return the names of the packages of kernels."""
    folders = sorted(SOURCES.glob("cordwood/*/kernels"))
    return [".".join(folder.relative_to(SOURCES).parts) for folder in folders]


def kernel_sources() -> list[Path]:
    """Return the sources of the packages of kernels."""
    folders = (SOURCES.joinpath(*package.split(".")) for package in kernel_packages())
    return [source for folder in folders for source in sorted(folder.glob("*.py"))]


def fingerprint() -> str:
    """Return the fingerprint of a library that is made of this tree."""
    digest = hashlib.sha256(f"numba {version('numba')}\0llvmlite {version('llvmlite')}\0".encode())
    build = sorted(file for file in HERE.iterdir() if file.suffix in _CODE)
    for source in (*kernel_sources(), *build):
        digest.update(f"{source.relative_to(ROOT)}\0".encode() + source.read_bytes() + b"\0")
    for constant in sorted(set(constants(kernel_sources()))):
        digest.update(constant.encode() + b"\0")
    return digest.hexdigest()[:16]


def constants(sources: list[Path]) -> Iterator[str]:
    """Yield the definitions of the constants that these sources import from other packages."""
    imported = {
        (node.module, alias.name)
        for source in sources
        for node in ast.walk(ast.parse(source.read_bytes()))
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    for module, name in imported:
        if module.startswith("cordwood.") and ".kernels" not in module:
            inner = _definitions(SOURCES.joinpath(*module.split("."), f"{name}.py"))
            outer = _definitions(SOURCES.joinpath(*module.split(".")).with_suffix(".py"))
            found = inner or {each: outer[each] for each in (name,) if each in outer}
            yield from (f"{module}.{definition}" for definition in found.values())


@cache
def _definitions(source: Path) -> dict[str, str]:
    """Return the definitions of the constants of a module by their names."""
    if not source.is_file():
        return {}
    lines = source.read_text(encoding="utf-8").splitlines()
    found: dict[str, str] = {}
    for node in ast.parse("\n".join(lines)).body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        text = "\n".join(lines[node.lineno - 1 : node.end_lineno])
        names = (target.id for target in targets if isinstance(target, ast.Name))
        found |= {name: text for name in names if name.isupper()}
    return found


if __name__ == "__main__":
    print(fingerprint())

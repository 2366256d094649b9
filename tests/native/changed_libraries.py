"""Copies of the package whose library of kernels was cut, or was built from other sources."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeAlias

import cordwood
from cordwood.records.kernels.kernel_library import PATH

SOURCE: Final = Path(cordwood.__file__).parent
LIBRARY: Final = Path(PATH)
PLACE: Final = LIBRARY.relative_to(SOURCE.parent)

#: Changes a library, and thereby the package around it.
Change: TypeAlias = Callable[[Path], None]


def copy_package(folder: Path) -> Path:
    """Copy the package, its bytecode too; return its library."""
    shutil.copytree(SOURCE, folder / SOURCE.name, dirs_exist_ok=True)
    return folder / PLACE


def cut(library: Path) -> None:
    """Leave the first 100,000 bytes of a library, as a full disk does."""
    os.truncate(library, 100_000)


def rename_kernels(library: Path) -> None:
    """Give kernels the names that they have in other sources."""
    whole = library.read_bytes()
    renamed = whole.replace(b".kernels.", b".others_.")
    assert renamed != whole, "the table has the names"
    library.write_bytes(renamed)


def environment_of(folder: Path) -> dict[str, str]:
    """Return the environment of a process that imports the copy in a folder."""
    ignored = {"CORDWOOD_KERNELS"}
    kept = {name: value for name, value in os.environ.items() if name not in ignored}
    return kept | {"PYTHONPATH": str(folder)}

"""The library of a package in a zip."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cordwood
from cordwood.records.kernels import zipped_library
from cordwood.records.kernels.kernel_library import LIBRARY, PATH
from cordwood.records.kernels.zipped_library import read_library

PROGRAM = """
import sys
sys.path.insert(0, {archive!r})
from cordwood.records.kernels import kernel_library
found = kernel_library.LIBRARY
print(kernel_library.__file__, found.level, len(found.kernels))
"""
FAULT = """
import sys
sys.path.insert(0, {archive!r})
from cordwood.records.kernels import kernel_library
print(kernel_library.FAULT)
"""


@pytest.mark.skipif(LIBRARY is None, reason="there is no library of kernels")
@pytest.mark.skipif(sys.platform != "linux", reason="a copy in memory needs Linux")
@pytest.mark.parametrize("name", ("./c.zip", "{folder}/c.zip", "{folder}/./c.zip"))
def test_library_is_loaded_from_a_zip(tmp_path: Path, name: str) -> None:
    package = Path(cordwood.__file__).parent
    shutil.make_archive(str(tmp_path / "c"), "zip", package.parent, package.name)
    archive = name.format(folder=tmp_path)
    command = [sys.executable, "-c", PROGRAM.format(archive=archive)]

    done = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)

    file, level, kernels = done.stdout.split()
    assert file.startswith(archive)
    assert LIBRARY is not None
    assert (level, int(kernels)) == (LIBRARY.level, len(LIBRARY.kernels))


@pytest.mark.skipif(sys.platform != "linux", reason="a copy in memory needs Linux")
def test_fault_of_a_damaged_library_in_a_zip_has_the_reason(tmp_path: Path) -> None:
    package = tmp_path / "cordwood"
    shutil.copytree(Path(cordwood.__file__).parent, package)
    (tmp_path / Path(PATH).relative_to(Path(cordwood.__file__).parent.parent)).write_bytes(
        b"not a library"
    )
    archive = shutil.make_archive(str(tmp_path / "c"), "zip", tmp_path, package.name)
    command = [sys.executable, "-c", FAULT.format(archive=archive)]

    done = subprocess.run(command, check=True, capture_output=True, text=True)

    assert done.stdout.startswith("the library does not load: ")


@pytest.mark.skipif(sys.platform != "linux", reason="a copy in memory needs Linux")
def test_copy_without_room_is_not_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda place, data: write(place, data[:50]))

    with pytest.raises(OSError, match="only a part of 64 bytes has room"):
        zipped_library._load("_machine", bytes(64))  # noqa: SLF001  # the part behind the zip


def test_package_outside_of_a_zip_has_no_copy() -> None:
    assert read_library(PATH) is None

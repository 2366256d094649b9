"""The library of a package in a zip."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cordwood
from cordwood.records.kernels.kernel_library import LIBRARY
from cordwood.records.kernels.zipped_library import load_copy

PROGRAM = """
import sys
sys.path.insert(0, {archive!r})
from cordwood.records.kernels import kernel_library
found = kernel_library.LIBRARY
print(kernel_library.__file__, found.level, len(found.kernels))
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


def test_package_outside_of_a_zip_has_no_copy() -> None:
    assert load_copy("cordwood.records.kernels._machine") is None

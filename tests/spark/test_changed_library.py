"""A task of Spark next to a library of kernels that was cut, or built from other sources."""

import subprocess
import sys
from pathlib import Path

import pytest

from cordwood.records.kernels.kernel_library import LIBRARY
from tests.native.changed_libraries import (
    PLACE,
    Change,
    copy_package,
    cut,
    environment_of,
    rename_kernels,
)
from tests.test_workbench_page import build_logs

pytestmark = pytest.mark.skipif(
    LIBRARY is None or sys.platform != "linux", reason="there is no library of kernels in ELF"
)


@pytest.mark.parametrize(
    ("change", "problem"),
    ((cut, "was cut (100,000 of at least "), (rename_kernels, "was built from other sources (it")),
    ids=("cut", "other"),
)
def test_job_ends_with_the_error_of_its_task(tmp_path: Path, change: Change, problem: str) -> None:
    change(copy_package(tmp_path))
    build_logs(tmp_path / "logs")
    command = ["-m", "cordwood", "spark", "verify", "logs", "--master", "local[1]"]

    done = subprocess.run(
        [sys.executable, *command],
        cwd=tmp_path,
        env=environment_of(tmp_path),
        capture_output=True,
        text=True,
        check=False,
    )

    last = done.stderr.splitlines()[-1]
    assert last.startswith(f"cordwood: {tmp_path / PLACE}: the library of kernels {problem}")
    assert "Traceback" not in done.stderr
    assert (done.returncode, done.stdout) == (3, "")

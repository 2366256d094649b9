"""A test whose clean-up waits for ever ends its process, and the run names it."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
HANGING = """
import threading

import pytest

from tests import hanging_tests

hanging_tests.CLEAN_UP_S = 0.5


@pytest.mark.timeout(0.5)
def test_hangs():
    try:
        threading.Event().wait()
    finally:
        threading.Event().wait()


def test_of_another_file_goes_on():
    pass
"""


def test_hanging_clean_up_fails_its_test_and_the_run_goes_on(tmp_path: Path) -> None:
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    (tmp_path / "test_hanging.py").write_text(HANGING)
    options = ("-p", "tests.hanging_tests", "-p", "no:randomly", "--max-worker-restart=0")
    workers = ("--numprocesses=2", "--dist=load")

    run = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *options, *workers, str(tmp_path)],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert run.returncode == 1
    assert "1 failed, 1 passed" in run.stdout
    assert "crashed while running 'test_hanging.py::test_hangs'" in run.stdout
    assert 'test_hanging.py", line 16 in test_hangs' in run.stderr

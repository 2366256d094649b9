"""A test that starts a Python is skipped where only an emulator could run that Python."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.emulated_python import skip_without_second_python


@pytest.fixture
def foreign(tmp_path: Path) -> str:
    """Return a program in a format that the system does not execute."""
    program = tmp_path / "python"
    program.write_bytes(b"\x7fELF" + bytes(60))
    program.chmod(0o755)
    return str(program)


def test_python_of_another_processor_is_a_skip(
    foreign: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", foreign)

    with pytest.raises(pytest.skip.Exception, match="emulated"), skip_without_second_python():
        subprocess.run([sys.executable], check=True)


def test_another_program_of_that_format_is_an_error(foreign: str) -> None:
    with pytest.raises(OSError, match="format"), skip_without_second_python():
        subprocess.run([foreign], check=True)

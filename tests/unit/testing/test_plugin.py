"""The pytest plugin is cheap to load, and its fixtures work."""

import subprocess
import sys

import pytest

from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock


@pytest.fixture
def loaded() -> set[str]:
    """Return the modules that the plugin loads into a process with pytest."""
    code = (
        "import sys, pytest; before = set(sys.modules);"
        "import cordwood.testing.plugin; print(*(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_plugin_imports_itself_alone_when_pytest_starts(loaded: set[str]) -> None:
    assert loaded == {"cordwood", "cordwood.testing", "cordwood.testing.plugin"}


def test_plugin_has_a_clock_fixture(virtual_clock: VirtualClock) -> None:
    assert isinstance(virtual_clock, VirtualClock)


def test_plugin_has_a_files_fixture(memory_files: MemoryFiles, virtual_clock: VirtualClock) -> None:
    assert isinstance(memory_files, MemoryFiles)
    assert memory_files.clock is virtual_clock

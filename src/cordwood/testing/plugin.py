"""pytest reads this module in every project that has Cordwood, so it imports nothing of weight.

The fixtures bring their classes in when a test asks for them; a project that uses none pays for
reading this file alone.
"""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cordwood.testing.clock import VirtualClock
    from cordwood.testing.files import MemoryFiles


@pytest.fixture
def virtual_clock() -> "VirtualClock":
    """A clock that stands still until the test moves it."""
    from cordwood.testing.clock import VirtualClock

    return VirtualClock()


@pytest.fixture
def memory_files(virtual_clock: "VirtualClock") -> "MemoryFiles":
    """An empty file system in memory, on the test's clock, which forgets what was not synced."""
    from cordwood.testing.files import MemoryFiles

    return MemoryFiles(virtual_clock)

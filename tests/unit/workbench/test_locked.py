"""One lock for all who write to a log directory."""

import pytest

from cordwood.core.errors import LogDirectoryError
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.locked import locked


def test_lock_is_held_for_as_long_as_the_work_takes() -> None:
    files = MemoryFiles()

    with locked(files, ""), pytest.raises(BlockingIOError):
        files.lock("/.lock")

    files.lock("/.lock").release()


def test_lock_of_a_broker_keeps_others_out() -> None:
    files = MemoryFiles()
    files.make_directory("/d")
    files.lock("/d/.lock")

    message = "/d: is in use by a broker; stop it first"
    with pytest.raises(LogDirectoryError, match=message), locked(files, "/d"):
        pass

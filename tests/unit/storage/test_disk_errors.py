"""An error of the operating system is about this moment, about a name, or about the disk."""

import errno

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.disk_errors import described, is_of_a_name, is_of_disk


@pytest.mark.parametrize("code", (errno.EIO, errno.EROFS, errno.EACCES, errno.ENOENT))
def test_error_of_the_disk_is_one(code: int) -> None:
    error = OSError(code, "refused", "/d")

    assert (is_of_disk(error), is_of_a_name(error)) == (True, False)
    assert described(error) == str(error)


@pytest.mark.parametrize("code", (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT))
def test_error_that_passes_is_not_one_of_the_disk(code: int) -> None:
    error = OSError(code, "short", "/d")

    assert (is_of_disk(error), is_of_a_name(error)) == (False, False)


@pytest.mark.parametrize("code", (errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ESPIPE))
def test_name_that_something_else_has_is_told_with_what_to_do(code: int) -> None:
    error = OSError(code, "odd", "/d/orders-0")

    assert (is_of_disk(error), is_of_a_name(error)) == (False, True)
    assert described(error).endswith(
        "odd: '/d/orders-0'; something else has the name of a log's file or directory: move it away"
    )


def test_name_that_is_too_long_is_told_with_what_to_do() -> None:
    error = OSError(errno.ENAMETOOLONG, "long", "/d/x")

    assert described(error).endswith("no names of this length: choose a shorter topic")


def test_other_errors_speak_for_themselves() -> None:
    damage = DamagedFileError("odd", path="/x", remedy="mend it")

    assert described(damage) == "/x: odd; mend it"
    assert described(AssertionError()) == "AssertionError"
    assert not is_of_disk(damage)

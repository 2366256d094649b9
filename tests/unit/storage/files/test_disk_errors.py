"""I/O errors are transient, of one name, or of the disk."""

import errno

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.storage.files.disk_errors import describe_error, is_disk_failure, is_name_error


@pytest.mark.parametrize("code", (errno.EIO, errno.EROFS, errno.EACCES, errno.ENOENT))
def test_other_errors_are_disk_failures(code: int) -> None:
    error = OSError(code, "refused", "/d")

    assert is_disk_failure(error)
    assert not is_name_error(error)
    assert describe_error(error) == str(error)


@pytest.mark.parametrize("code", (errno.EMFILE, errno.ENFILE, errno.ENOSPC, errno.EDQUOT))
def test_transient_error_is_not_a_disk_failure(code: int) -> None:
    error = OSError(code, "short", "/d")

    assert not is_disk_failure(error)
    assert not is_name_error(error)


@pytest.mark.parametrize("code", (errno.EEXIST, errno.EISDIR, errno.ENOTDIR, errno.ESPIPE))
def test_error_for_the_name_of_another_file_has_a_remedy(code: int) -> None:
    error = OSError(code, "odd", "/d/orders-0")

    assert not is_disk_failure(error)
    assert is_name_error(error)
    assert describe_error(error).endswith(
        "odd: '/d/orders-0'; another file has the name of a log's file or directory: move it away"
    )


def test_error_for_a_name_that_is_too_long_has_a_remedy() -> None:
    error = OSError(errno.ENAMETOOLONG, "long", "/d/x")

    assert describe_error(error).endswith("not allow such long names: choose a shorter topic")


def test_other_errors_are_described_by_their_text() -> None:
    damage = DamagedFileError("odd", path="/x", remedy="mend it")

    assert describe_error(damage) == "/x: odd; mend it"
    assert describe_error(AssertionError()) == "AssertionError"
    assert not is_disk_failure(damage)

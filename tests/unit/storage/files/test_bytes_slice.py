"""A slice in memory has the bytes that it was made of."""

import errno

import pytest

from cordwood.core.ports import Slice
from cordwood.storage.files.bytes_slice import BytesSlice


def made() -> Slice:
    return BytesSlice(memoryview(b"0123456789"), 40)


@pytest.mark.parametrize(
    ("start", "length", "expected"),
    ((0, None, b"0123456789"), (4, None, b"456789"), (2, 3, b"234"), (8, 9, b"89"), (10, 1, b"")),
)
def test_slice_returns_a_range_of_its_bytes(
    start: int, length: int | None, expected: bytes
) -> None:
    assert bytes(made().read(start, length)) == expected
    assert bytes(made().read_cached(start, 10 if length is None else length)) == expected


def test_slice_has_no_descriptor() -> None:
    found = made()

    assert (found.descriptor, found.position, found.length) == (None, 40, 10)


def test_slice_can_be_read_after_its_release() -> None:
    found = made()

    found.release()

    assert bytes(found.read()) == b"0123456789"


def test_error_is_returned() -> None:
    assert "late" in str(made().fail(OSError(errno.EIO, "late")))

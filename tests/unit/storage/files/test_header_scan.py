"""Headers are found through windows that end anywhere, up to an incomplete or damaged batch."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.storage.files.header_scan import WINDOW_SIZE, Pread, find_batch, headers
from tests.unit.storage.segment_samples import message, v2


def pread_of(data: bytes) -> Pread:
    def pread(length: int, position: int) -> bytes:
        assert length <= WINDOW_SIZE, "windows are small"
        return data[position : position + length]

    return pread


def found(data: bytes, position: int = 0, end: int | None = None) -> list[int]:
    walk = headers(pread_of(data), position, len(data) if end is None else end)
    return [header.last_offset for header in walk]


@pytest.mark.parametrize("size", (0, 1000, 4000, 4070, 5000, 10_000))
def test_headers_are_found_in_windows_of_any_size(size: int) -> None:
    batches = [v2(offset, size=size) for offset in range(200)]

    walk = list(headers(pread_of(b"".join(batches)), 0, sum(map(len, batches))))

    assert [header.base_offset for header in walk] == list(range(200))
    assert walk[-1].position == sum(map(len, batches[:-1]))


def test_headers_of_all_formats_are_found() -> None:
    data = message(3, magic=0) + message(4) + v2(5, 7)

    assert found(data) == [3, 4, 7]


def test_headers_begin_and_end_at_the_given_positions() -> None:
    data = v2(0) + v2(1) + v2(2)
    size = len(v2(0))

    assert found(data, size) == [1, 2]
    assert found(data, 0, 2 * size) == [0, 1]
    assert found(data, 0, 3 * size - 1) == [0, 1]


@pytest.mark.parametrize("missing", (1, 8, 40, 52, 55))
def test_headers_end_without_an_error_at_an_incomplete_batch(missing: int) -> None:
    assert found((v2(0) + v2(1))[:-missing]) == [0]


def test_headers_end_without_an_error_where_the_file_became_shorter() -> None:
    data = v2(0) + v2(1)

    assert found(data[:80], end=len(data)) == [0]


def test_headers_raise_where_zeros_begin() -> None:
    with pytest.raises(CorruptMessageError, match="batch size") as caught:
        found(v2(0) + bytes(100))

    assert caught.value.position == len(v2(0))


@pytest.mark.parametrize("size", (0, 1500, 5000))
@pytest.mark.parametrize(("offset", "base"), ((0, 0), (1, 1), (2, 1), (3, 5), (6, 5), (7, None)))
def test_found_batch_is_the_first_that_ends_at_or_above_it(
    size: int, offset: int, base: int | None
) -> None:
    data = v2(0, size=size) + v2(1, 2, size=size) + v2(5, 6, size=size)

    header = find_batch(pread_of(data), 0, len(data), offset=offset)

    assert (None if header is None else header.base_offset) == base


def test_found_batch_may_have_an_old_format() -> None:
    data = message(0) + message(1) + v2(2) + message(3)

    for offset in range(4):
        header = find_batch(pread_of(data), 0, len(data), offset=offset)
        assert header is not None
        assert header.last_offset == offset


def test_found_batch_is_none_when_it_is_incomplete() -> None:
    data = v2(0) + v2(1)

    assert find_batch(pread_of(data), 0, len(data) - 1, offset=1) is None
    assert find_batch(pread_of(data[:90]), len(v2(0)), len(data), offset=1) is None


def test_found_batch_raises_where_no_batch_can_begin() -> None:
    data = v2(0) + bytes(100)

    with pytest.raises(CorruptMessageError, match="batch size"):
        find_batch(pread_of(data), 0, len(data), offset=1)

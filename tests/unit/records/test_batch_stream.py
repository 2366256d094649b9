"""Consecutive batches of all formats; an incomplete batch ends the stream, damage raises."""

import pytest

from cordwood.core.errors import CorruptMessageError, SettingError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_stream import batch_at, batches, ensure_whole, flat_view
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.legacy_builder import LegacyBuilder


def v2(base_offset: int) -> bytearray:
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    builder.append(b"k", b"v", timestamp=1000)
    return builder.build()


def v0(offset: int) -> bytearray:
    builder = LegacyBuilder(0, base_offset=offset)
    builder.append(b"k", b"v")
    return builder.build()


def test_stream_has_batches_of_all_formats() -> None:
    data = v0(4) + v2(5) + v0(6)

    found = list(batches(data))

    assert [type(batch) is LegacyBatch for batch in found] == [True, False, True]
    assert [batch.last_offset for batch in found] == [4, 5, 6]
    assert found[-1].end == len(data)


@pytest.mark.parametrize("missing", (1, 40, 52, 60, 68))
def test_stream_ignores_an_incomplete_last_batch(missing: int) -> None:
    data = v2(5) + v2(6)

    found = list(batches(data[:-missing]))

    assert [batch.base_offset for batch in found] == [5]


def test_stream_starts_at_the_given_position() -> None:
    first = v2(5)

    found = list(batches(first + v2(6), len(first)))

    assert [(batch.position, batch.base_offset) for batch in found] == [(len(first), 6)]


@pytest.mark.parametrize("size", (0, 13, -1))
def test_stream_raises_when_a_size_is_below_the_smallest(size: int) -> None:
    data = v2(5) + v2(6)
    data[78:82] = size.to_bytes(4, signed=True)

    with pytest.raises(CorruptMessageError, match="batch size") as caught:
        list(batches(data))

    assert (caught.value.position, caught.value.base_offset, caught.value.found) == (70, 6, size)


@pytest.mark.parametrize("magic", (3, 0xFF))
def test_stream_raises_when_the_magic_is_unknown(magic: int) -> None:
    data = v2(5)
    data[16] = magic

    with pytest.raises(CorruptMessageError, match="unknown magic"):
        batch_at(data, 0)


def test_stream_raises_when_a_batch_is_shorter_than_its_header() -> None:
    data = v2(5)
    data[8:12] = (48).to_bytes(4)

    with pytest.raises(CorruptMessageError, match=r"batch length .*expected 49 to 58, found 48"):
        batch_at(data, 0)


def test_stream_rejects_a_negative_position() -> None:
    with pytest.raises(CorruptMessageError, match="position -5"):
        batch_at(v2(0), -5)


def test_stream_without_trailing_bytes_is_whole() -> None:
    data = v2(0)

    ensure_whole(data, len(data))


@pytest.mark.parametrize(
    ("left", "base_offset", "claim"),
    ((7, None, "at least 17 bytes"), (8, 9, "at least 17 bytes"), (12, 9, "70 bytes")),
)
def test_error_for_an_incomplete_last_batch_has_its_size(
    left: int, base_offset: int | None, claim: str
) -> None:
    data = v2(9)

    with pytest.raises(CorruptMessageError, match="cut off") as caught:
        ensure_whole(b"..." + data[:left], 3)

    error = caught.value
    assert (error.position, error.base_offset) == (3, base_offset)
    assert (error.expected, error.found) == (claim, f"{left} bytes")


def test_flat_view_has_the_bytes_of_any_shape() -> None:
    square = memoryview(bytes(range(4))).cast("B", (2, 2))

    assert flat_view(square).tolist() == [0, 1, 2, 3]
    assert flat_view(memoryview(b"").cast("i")).nbytes == 0
    with pytest.raises(SettingError, match="one behind the other"):
        flat_view(memoryview(b"abc")[::2])

"""Records without headers and with short numbers; the general reader reads all others."""

import pytest

from cordwood.records.kernels.common_record import NUMBERS, Usual, any_record, usual_record
from cordwood.records.kernels.kernel_definition import Bytes, inlined
from cordwood.records.v2_record import append_v2_record
from tests.unit.records.kernels.words import source_of

BEHIND = bytes(NUMBERS)


@inlined
def read(source: Bytes, position: int, end: int) -> Usual:
    return usual_record(source, position, end)


def record(
    key: bytes | None = b"key", value: bytes | None = b"value", *, time: int = 5, offset: int = 70
) -> bytes:
    out = bytearray()
    append_v2_record(out, timestamp_delta=time, offset_delta=offset, key=key, value=value)
    return bytes(out)


@pytest.mark.parametrize(
    ("key", "value", "sizes"),
    ((b"key", b"value", (3, 5)), (None, b"v" * 300, (-1, 300)), (b"", None, (0, -1))),
)
def test_common_record_is_recognized_by_its_numbers(
    key: bytes | None, value: bytes | None, sizes: tuple[int, int]
) -> None:
    data = record(key, value)
    source = source_of(b".." + data + BEHIND)

    stop, timestamp, offset, body, key_size, key_at, value_size = read(source, 2, len(source))

    assert (stop, timestamp, offset, body) == (2 + len(data), 5, 70, key_at - 1)
    assert (key_size, value_size) == sizes
    assert source.tobytes()[key_at : key_at + max(key_size, 0)] == (key or b"")


@pytest.mark.parametrize(
    "data",
    (
        record(time=1 << 20),
        record(offset=1 << 20),
        record(b"k" * 9000),
        record(None, b"v" * 9000),
        b"\x16" + record()[1:],
        record()[:-1] + b"\x02",
        b"\x7f\x00" + record()[2:],
    ),
    ids=("time", "offset", "key", "value", "too short", "headers", "beyond"),
)
def test_usual_record_is_none_when_it_is_another(data: bytes) -> None:
    source = source_of(data + BEHIND)

    assert read(source, 0, len(source))[0] == -1


def test_usual_record_is_none_where_its_numbers_may_not_all_be() -> None:
    data = record(b"", b"")

    assert read(source_of(data + BEHIND), 0, len(data))[0] == -1


@inlined
def read_any(source: Bytes, position: int, end: int) -> Usual:
    return any_record(source, position, end)


@pytest.mark.parametrize("offset", (70, 1 << 20), ids=("usual", "other"))
def test_any_record_is_read_when_its_numbers_are_short_and_when_they_are_long(offset: int) -> None:
    data = record(offset=offset)
    source = source_of(data + BEHIND)

    stop, timestamp, found, _, key_size, key_at, value_size = read_any(source, 0, len(source))

    assert (stop, timestamp, found) == (len(data), 5, offset)
    assert source.tobytes()[key_at : key_at + key_size] == b"key"
    assert value_size == len(b"value")


def test_invalid_record_is_not_read() -> None:
    source = source_of(b"\x16" + record()[1:] + BEHIND)

    assert read_any(source, 0, len(source))[0] == -1

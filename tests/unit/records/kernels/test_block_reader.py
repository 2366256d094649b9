"""Records are read into a block, fast or slowly, with the same words; invalid ones are rejected."""

from collections.abc import Sequence

import pytest

from cordwood.records.kernels import block as in_block
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.block import BLOCK_WORDS, new_block, noted
from cordwood.records.kernels.block_reader import (
    SHORT,
    read_block,
    read_quickly,
    read_slowly,
    short,
)
from cordwood.records.kernels.kernel_definition import Bytes, Words
from cordwood.records.v2_record import append_v2_record
from tests.unit.records.kernels.words import empty_state, empty_table, source_of

ROOM = b"\0" * 16


def record(
    delta: int,
    *,
    key: bytes | None = b"key",
    value: bytes | None = b"value",
    timestamp: int = 5,
    headers: tuple[tuple[str, bytes | None], ...] = (),
) -> bytes:
    out = bytearray()
    append_v2_record(
        out, timestamp_delta=timestamp, offset_delta=delta, key=key, value=value, headers=headers
    )
    return bytes(out)


COMMON = (
    record(0),
    record(0, key=None, value=None),
    record(0, key=b"", value=b""),
    record(70, key=b"k" * 100, value=b"v" * 9000, timestamp=-70),
    record(9000, key=b"k" * 9000, value=b"v" * 100, timestamp=9000),
)
RARE = (
    record(0, timestamp=1 << 40),
    record(0, timestamp=-(1 << 20) - 1),
    record(0, key=b"k" * (1 << 20)),
    record(0, value=b"v" * (1 << 20)),
    record(0, headers=(("h", b"1"), ("n", None))),
    b"\x0e\0\0\0\x03\x01\x80\0",
    b"\x0e\0\0\0\x01\x03\x80\0",
)
UNSOUND = (
    b"\x0f" + record(0)[1:],
    b"\x0a\0\0\0\0\0",
    record(0)[:-1] + b"\x02",
    b"\x18" + record(0)[1:] + b"\0",
    record(0)[:2] + b"\0\x01" + record(0)[4:],
    b"\xfe\xff\x7f" + record(0)[1:],
    record(0)[:4] + b"\xfe\x7f" + record(0)[6:],
)


def batch_of(data: bytes, *, last: int = 1 << 20) -> Words:
    batch: Words = empty_table(1)[0]
    batch[at.T_DATA_END], batch[at.T_LAST_DELTA] = len(data), last
    return batch


def words(block: Bytes, row: int = 0) -> list[int]:
    return [noted(block, word, row) for word in range(BLOCK_WORDS)]


def quickly(data: bytes, *, previous: int = -1, last: int = 1 << 20) -> tuple[int, int, int]:
    """Read one record that has room behind it; returns how far that came."""
    source, batch = source_of(data + ROOM), batch_of(data + ROOM, last=last)
    return read_quickly(source, batch, new_block(), (0, 0, 2 * previous), 1)


def read(records: Sequence[bytes], *, last: int = 1 << 20) -> tuple[tuple[int, int, int], Bytes]:
    """Read records that fill their batch; returns how far that came, and the block."""
    data, block, state = b"".join(records), new_block(), empty_state()
    state[at.F_LAST_DELTA] = -1
    cursor = read_block(source_of(data), batch_of(data, last=last), block, len(records), state)
    return cursor, block


@pytest.mark.parametrize(
    ("data", "raw"),
    ((b"\x7f...", 0x7F), (b"\x80\x01..", 0x80), (b"\xff\xff\x7f.", SHORT - 1)),
)
def test_short_varint_is_decoded(data: bytes, raw: int) -> None:
    assert short(source_of(data), 0) == (raw, 1 + (raw > 0x7F) + (raw > 0x3FFF))


def test_longer_varint_is_reported() -> None:
    assert short(source_of(b"\x80\x80\x80\x01"), 0)[0] >= SHORT


@pytest.mark.parametrize("data", COMMON)
def test_fast_reading_finds_the_same_as_slow_reading(data: bytes) -> None:
    source, batch = source_of(data + ROOM), batch_of(data + ROOM)
    quick, slow = new_block(), new_block()

    reached = read_quickly(source, batch, quick, (0, 0, -2), 1)

    assert reached == read_slowly(source, batch, slow, (0, 0, -2))
    assert reached[:2] == (1, len(data))
    assert words(quick) == words(slow)


@pytest.mark.parametrize("data", (*RARE, *UNSOUND))
def test_fast_reading_stops_before_an_uncommon_record(data: bytes) -> None:
    assert quickly(data) == (0, 0, -2)


@pytest.mark.parametrize(("previous", "last"), ((7, 10), (8, 10), (-1, 6)))
def test_fast_reading_stops_before_an_offset_delta_out_of_order(previous: int, last: int) -> None:
    assert quickly(record(7), previous=previous, last=last) == (0, 0, 2 * previous)


@pytest.mark.parametrize("data", (*COMMON, *RARE))
def test_records_of_every_kind_are_read_at_every_end_of_a_batch(data: bytes) -> None:
    (row, position, _), _ = read([data])

    assert (row, position) == (1, len(data))


def test_block_has_the_positions_of_each_record() -> None:
    records = [
        record(0), record(1, key=None, timestamp=-1), record(2, headers=(("h", b"1"),)), record(9)
    ]  # fmt: skip

    (row, position, raw), block = read(records)

    ends = [sum(map(len, records[: count + 1])) for count in range(4)]
    assert (row, position, raw) == (4, ends[-1], 18)
    assert [noted(block, in_block.B_OFFSET, row) for row in range(4)] == [0, 2, 4, 18]
    assert [noted(block, in_block.B_TIMESTAMP, row) for row in range(4)] == [10, 1, 10, 10]
    assert [noted(block, in_block.B_KEY + 1, row) for row in range(4)] == [6, 1, 6, 6]
    assert [noted(block, in_block.B_VALUE, row) for row in (0, 1, 3)] == [
        ends[0] - 1, ends[1] - 1, ends[3] - 1
    ]  # fmt: skip
    assert [noted(block, in_block.B_HEADER_COST, row) for row in range(4)] == [0, 0, 18, 0]


@pytest.mark.parametrize("data", UNSOUND)
@pytest.mark.parametrize("after", (b"", ROOM))
def test_invalid_record_ends_the_block(data: bytes, after: bytes) -> None:
    assert read([data + after])[0][1] == -1


@pytest.mark.parametrize("deltas", ((0, 0), (1, 0), (0, 21)))
def test_offset_deltas_must_increase_up_to_the_last_one(deltas: tuple[int, int]) -> None:
    assert read([record(delta) for delta in deltas], last=20)[0][1] == -1

"""The header alone, of every format, out of a window that may end anywhere."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.batch_header import LARGEST_HEADER, BatchHeader, ensure_crc, read_header
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.record_batch import RecordBatch

V2_FIELDS = BatchFields(
    base_offset=10,
    partition_leader_epoch=3,
    codec=Codec.ZSTD,
    producer_id=7,
    producer_epoch=1,
    base_sequence=(1 << 31) - 1,
    is_transactional=True,
)


def v2(fields: BatchFields = V2_FIELDS) -> bytes:
    builder = BatchBuilder(fields)
    builder.append(b"k", b"v", timestamp=1000)
    builder.append(b"k", None, timestamp=1005)
    return bytes(builder.build())


def message(magic: int) -> bytes:
    builder = LegacyBuilder(1 if magic else 0, base_offset=5)
    builder.append(b"k", b"v", timestamp=1000)
    return bytes(builder.build())


def header_of(data: bytes) -> BatchHeader:
    found = read_header(data)
    assert found is not None
    return found


def test_header_of_v2_equals_the_fields_of_the_batch() -> None:
    batch = RecordBatch(v2())

    header = header_of(v2()[:LARGEST_HEADER])

    for name in (*BatchHeader._fields, "end", "next_offset", "last_sequence", "has_producer_id"):
        said = batch.count if name == "record_count" else getattr(batch, name)
        assert getattr(header, name) == said, name
    assert (header.is_transactional, header.is_control, header.is_log_append_time) == (
        True,
        False,
        False,
    )
    assert (header.codec_id, header.last_sequence) == (Codec.ZSTD, 0)


@pytest.mark.parametrize(("magic", "timestamp"), ((0, -1), (1, 1000)))
def test_header_of_a_message_has_one_offset_and_no_producer(magic: int, timestamp: int) -> None:
    header = header_of(message(magic))

    assert (header.magic, header.base_offset, header.last_offset) == (magic, 5, 5)
    assert (header.size, header.max_timestamp, header.record_count) == (
        len(message(magic)),
        timestamp,
        -1,
    )
    assert (header.last_sequence, header.has_producer_id) == (-1, False)
    assert (header.is_control, header.is_transactional) == (False, False)
    assert not header.is_log_append_time


def test_header_has_the_log_append_time_flag() -> None:
    assert header_of(v2(BatchFields(log_append_time_ms=9))).is_log_append_time


@pytest.mark.parametrize("data", (v2(), message(0), message(1)))
def test_header_is_none_when_the_window_is_short(data: bytes) -> None:
    smallest = next(size for size in range(len(data)) if read_header(data[:size]) is not None)

    assert smallest in (18, 26, 61)
    assert read_header(b"x" + data, 1) == header_of(data)._replace(position=1)


def test_header_has_the_given_position() -> None:
    found = read_header(v2(), 0, position=4096)

    assert found is not None
    assert (found.position, found.end) == (4096, 4096 + len(v2()))


@pytest.mark.parametrize(
    ("at", "to", "problem"),
    ((8, "00000030", "a batch size"), (8, "ffffffff", "a batch size"), (16, "03", "unknown magic")),
)
def test_invalid_header_is_rejected(at: int, to: str, problem: str) -> None:
    damaged = bytearray(v2())
    damaged[at : at + len(to) // 2] = bytes.fromhex(to)

    with pytest.raises(CorruptMessageError, match=problem) as caught:
        read_header(damaged, position=77)

    assert (caught.value.position, caught.value.base_offset) == (77, 10)


@pytest.mark.parametrize("data", (v2(), message(0), message(1)), ids=("v2", "v0", "v1"))
def test_checksum_of_changed_bytes_is_rejected(data: bytes) -> None:
    header = header_of(data)
    changed = bytearray(data)
    changed[-1] ^= 1

    ensure_crc(header, memoryview(data))

    with pytest.raises(CorruptMessageError, match=r"the checksum is wrong.*offset") as caught:
        ensure_crc(header, memoryview(changed))
    assert caught.value.expected == f"{header.crc:08x}"

"""The kernel writes the lines that the plain writer writes, or leaves them to it."""

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX, INT64_MIN
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.records.decoder import Selection
from cordwood.records.kernels.arena import ARENA_BYTES
from cordwood.records.kernels.record_lines import KernelLineWriter
from cordwood.records.record_batch import RecordBatch
from cordwood.records.record_lines import LineStyle, PlainLineWriter
from tests.unit.records.segments import changed

KERNEL = KernelLineWriter()
PLAIN = PlainLineWriter()
STYLES = (
    LineStyle(),
    LineStyle(has_data=True),
    LineStyle(has_metadata=False),
    LineStyle(has_metadata=False, has_data=True),
    LineStyle(selection=Selection(first_offset=1, last_offset=2, min_timestamp=1001)),
)


def shapes(**fields: object) -> bytes:
    builder = BatchBuilder(BatchFields(**fields))  # type: ignore[arg-type]  # as they are named
    builder.append(b"k", b"v", timestamp=1000)
    builder.append(None, "größer".encode(), timestamp=1001, headers=(("a", b"1"), ("b", None)))
    builder.append(b"", None, timestamp=999, offset=builder.last_offset + 4)
    builder.append(None, None, timestamp=-1)
    return bytes(builder.build())


def with_header(key: bytes) -> bytes:
    builder = BatchBuilder()
    builder.append(b"k", b"v", timestamp=1, headers=(("name", b""),))
    data = bytes(builder.build())
    return changed(data, data.index(b"name"), key)


def text(*, key: bytes = b"k", value: bytes = b"v") -> bytes:
    builder = BatchBuilder()
    builder.append(key, value, timestamp=1)
    return bytes(builder.build())


SAMPLES = {
    "plain": shapes(),
    "far": shapes(base_offset=INT64_MAX - 100),
    "sequences": shapes(producer_id=1, producer_epoch=0, base_sequence=INT32_MAX - 1),
    "stamped": shapes(log_append_time_ms=1234567890123),
    "packed": shapes(codec=Codec.LZ4),
    "negative times": changed(shapes(), 27, (-12345678901).to_bytes(8, signed=True)),
    "the lowest time": changed(text(), 27, INT64_MIN.to_bytes(8, signed=True)),
    "the lowest offset": changed(text(), 0, INT64_MIN.to_bytes(8, signed=True)),
    "a key that is not text": text(key=b"\xff"),
    "a value that is not text": text(value=b"\xff"),
    "a header key that is not text": with_header(b"n\x80me"),
    "a negative delta": changed(text(), 64, b"\x01"),
    "a record cut": changed(text(), 61, b"\x7e"),
    "bytes behind": text() [:8] + (len(text()) - 11).to_bytes(4) + text()[12:] + b"\0",
    "no records": changed(text(), 57, b"\0\0\0\0"),
    "a negative count": changed(text(), 57, b"\xff" * 4),
    "too many records": changed(text(), 57, b"\x7f" + b"\xff" * 3),
    "no gzip": changed(text(), 21, b"\0\1"),
}  # fmt: skip


@pytest.mark.parametrize("data", SAMPLES.values(), ids=SAMPLES.keys())
@pytest.mark.parametrize("style", STYLES)
def test_kernel_writes_the_same_as_the_plain_writer(data: bytes, style: LineStyle) -> None:
    batch = RecordBatch(data)

    mine, plain = (writer.write(batch, style, previous=-1) for writer in (KERNEL, PLAIN))

    assert (mine.text, mine.last_offset) == (plain.text, plain.last_offset)
    assert list(mine.gaps) == list(plain.gaps)
    assert str(mine.error) == str(plain.error)


def test_kernel_leaves_custom_value_formats_to_the_plain_writer() -> None:
    style = LineStyle(has_data=True, value_text=lambda data: b"%d" % len(data))

    found = KERNEL.write(RecordBatch(text(value=b"four")), style, previous=-1)

    assert found.text.endswith(b" payload: 4\n")


def test_kernel_writes_a_record_larger_than_its_buffer() -> None:
    builder = BatchBuilder(BatchFields(codec=Codec.ZSTD))
    builder.append(None, b"v" * (ARENA_BYTES + 1), timestamp=1)

    found = KERNEL.write(RecordBatch(builder.build()), LineStyle(has_data=True), previous=-1)

    assert len(found.text) > ARENA_BYTES


@pytest.mark.parametrize("codec", (Codec.LZ4, Codec.ZSTD))
def test_kernel_rejects_a_batch_above_the_limit(codec: Codec) -> None:
    batch = RecordBatch(shapes(codec=codec))

    assert "limit" in str(KERNEL.write(batch, LineStyle(limit=10), previous=-1).error)

"""Batches are converted singly, or merged."""

import pytest

from cordwood.core.errors import (
    CorruptMessageError,
    SettingError,
    UnsupportedForMessageFormatError,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields, empty_batch
from cordwood.records.batch_stream import AnyBatch, batches
from cordwood.records.compression import Codec
from cordwood.records.legacy_builder import LegacyBuilder, LegacyMagic
from cordwood.records.record import Record
from cordwood.workbench.convert.batch_converter import (
    GATHERED_BYTES,
    BatchConverter,
    ConvertOptions,
)
from tests.unit.storage.log_samples import batch, marker, produced


def converted(data: bytes | bytearray, wanted: ConvertOptions) -> list[AnyBatch]:
    converter = BatchConverter(wanted)
    parts = [part for each in batches(data) for part in converter.convert(each)]
    return list(batches(b"".join([*map(bytes, parts), *map(bytes, converter.end())])))


def old(
    magic: LegacyMagic, *offsets: int, codec: Codec = Codec.NONE, stamp: int | None = None
) -> bytearray:
    builder = LegacyBuilder(magic, base_offset=offsets[0], codec=codec, log_append_time_ms=stamp)
    for offset in offsets:
        builder.append(b"key", bytes(100), timestamp=offset if magic else -1, offset=offset)
    return builder.build()


def records(found: list[AnyBatch]) -> list[Record]:
    return [record for each in found for record in each.records()]


def values(found: list[AnyBatch]) -> list[tuple[int, int, bytes]]:
    """Return the fields that v0 and v2 share; v0 has no timestamp type."""
    return [(each.offset, each.timestamp, bytes(each.value or b"")) for each in records(found)]


def test_batch_with_another_codec_keeps_its_header_and_records() -> None:
    data = produced(3, 4, at=10, is_transactional=True)

    (made,) = converted(data, ConvertOptions(codec=Codec.ZSTD))

    (before,) = batches(data)
    made.ensure_valid()
    assert made.codec is Codec.ZSTD
    assert list(made.records()) == list(before.records())
    assert (made.last_offset, made.max_timestamp) == (before.last_offset, before.max_timestamp)
    assert (made.producer_id, made.base_sequence, made.is_transactional) == (1, 3, True)


@pytest.mark.parametrize(
    "data",
    (
        bytes(batch(3)),
        bytes(marker()),
        bytes(empty_batch(BatchFields(producer_id=1), last_offset=4, max_timestamp=7)),
    ),
)
def test_batch_in_the_requested_format_is_copied(data: bytes) -> None:
    wanted = ConvertOptions() if batch(3) == data else ConvertOptions(codec=Codec.GZIP)

    assert b"".join(bytes(each.data) for each in converted(data, wanted)) == data


def test_batch_of_the_codec_is_compressed_again_for_a_level() -> None:
    value = "".join(map(str, range(500))).encode()
    (gzip,) = converted(batch(2, value=value), ConvertOptions(codec=Codec.GZIP, level=1))

    (again,) = converted(bytes(gzip.data), ConvertOptions(codec=Codec.GZIP, level=9))

    assert again.size < gzip.size
    assert list(again.records()) == list(gzip.records())


@pytest.mark.parametrize("magic", (0, 1))
def test_messages_are_gathered_into_batches(magic: LegacyMagic) -> None:
    data = old(magic, *range(5, 400), 500)

    made = converted(data, ConvertOptions())

    assert {each.magic for each in made} == {2}
    assert 1 < len(made) < 10
    assert values(made) == values(list(batches(data)))
    assert all(each.size <= GATHERED_BYTES + 200 for each in made)


def test_each_message_with_log_append_time_has_its_own_batch() -> None:
    data = bytes(old(1, 0, stamp=70) + old(1, 1, stamp=90))

    made = converted(data, ConvertOptions())

    assert [each.max_timestamp for each in made] == [70, 90]
    assert records(made) == records(list(batches(data)))


def test_wrapper_is_one_batch_of_its_codec() -> None:
    data = old(1, 4, 5, 9, codec=Codec.LZ4)

    (made,) = converted(data, ConvertOptions())

    assert (made.magic, made.codec) == (2, Codec.LZ4)
    assert records([made]) == records(list(batches(data)))


def test_batch_becomes_a_wrapper_in_v1() -> None:
    (made,) = converted(batch(3, at=7), ConvertOptions(1, Codec.GZIP))

    assert (made.magic, made.codec) == (1, Codec.GZIP)
    assert [each.offset for each in made.records()] == [7, 8, 9]


def headed() -> bytearray:
    builder = BatchBuilder()
    builder.append(b"k", b"v", headers=[("h", b"x")])
    return builder.build()


@pytest.mark.parametrize(
    ("data", "words"),
    (
        (produced(0), "magic 1 keeps no producer ids, the batch has 1 (offset 0)"),
        (marker(), "magic 1 keeps no producer ids, the batch has 1 (offset 0)"),
        (headed(), "it has no headers, and the record at offset 0 has one"),
        (batch(fields=BatchFields(codec=Codec.ZSTD)), "zstd needs magic 2, not 1 (offset 0)"),
        (batch(fields=BatchFields(is_control=True)), "magic 1 has no control batches (offset 0)"),
    ),
)
def test_v1_rejects_records_it_cannot_represent(data: bytearray, words: str) -> None:
    with pytest.raises(UnsupportedForMessageFormatError) as rejected:
        converted(data, ConvertOptions(1))

    assert str(rejected.value) == f"cannot be message format v1: {words}; convert to v2"


def test_damaged_batch_is_rejected() -> None:
    data = batch(3)
    data[-1] ^= 1

    with pytest.raises(CorruptMessageError, match="the checksum is wrong"):
        converted(data, ConvertOptions(codec=Codec.ZSTD))


@pytest.mark.parametrize(
    ("names", "level", "words"),
    (
        (("v0",), None, "cannot write 'v0'"),
        (("v2", "zip"), None, "unknown compression"),
        (("v2", "gzip"), 70, "no compression level 70"),
        (("v2",), 3, "level: requires a codec"),
        (("v1", "zstd"), None, "v1 has no zstd; choose another codec, or format v2"),
    ),
)
def test_unknown_names_are_rejected(names: tuple[str, ...], level: int | None, words: str) -> None:
    with pytest.raises(SettingError, match=words):
        ConvertOptions.from_names(*names, level=level)


def test_options_are_parsed_from_names() -> None:
    assert ConvertOptions.from_names("v2", "zstd", level=5) == ConvertOptions(2, Codec.ZSTD, 5)
    assert ConvertOptions.from_names() == ConvertOptions()


def _emptied(base_offset: int = 4, *, producer_id: int = -1) -> bytes:
    """Return a batch whose records compaction has removed."""
    fields = BatchFields(base_offset=base_offset, producer_id=producer_id)
    return bytes(empty_batch(fields, last_offset=base_offset + 2, max_timestamp=-1))


def test_batch_without_records_is_left_out_of_v1() -> None:
    converter = BatchConverter(ConvertOptions(magic=1))

    converted = [each for batch in batches(_emptied()) for each in converter.convert(batch)]

    assert (converted, converter.left_out) == ([], 7)


def test_batch_without_records_stays_in_v2() -> None:
    converter = BatchConverter(ConvertOptions(codec=Codec.GZIP))

    converted = [each for batch in batches(_emptied()) for each in converter.convert(batch)]

    assert ([bytes(each) for each in converted], converter.left_out) == ([_emptied()], None)

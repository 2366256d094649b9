"""Errors name the batch that they are about."""

import pytest

from cordwood.core.errors import CorruptMessageError
from cordwood.records.batch_location import BatchLocation
from cordwood.records.compression import Codec, compress


def test_place_names_position_and_offset_in_both_errors() -> None:
    place = BatchLocation(61, 7)

    errors = (place.corrupt("x", expected=1, found=2), place.invalid("x", expected=1, found=2))

    assert [error.code for error in errors] == [2, 87]
    assert {str(error) for error in errors} == {
        "x (position 61, base offset 7, expected 1, found 2)"
    }


def test_place_reads_the_codec_from_the_low_three_bits() -> None:
    assert BatchLocation(0).codec(0x7C) is Codec.ZSTD


def test_undefined_codec_is_rejected() -> None:
    with pytest.raises(CorruptMessageError, match=r"unknown codec .*found 5"):
        BatchLocation(0).codec(5)


def test_place_names_itself_when_decompression_fails() -> None:
    bomb = memoryview(compress(Codec.GZIP, bytes(10_000)))

    with pytest.raises(CorruptMessageError) as caught:
        BatchLocation(61, 7).decompress(Codec.GZIP, bomb, magic=2, limit=9_999)

    assert (caught.value.position, caught.value.base_offset) == (61, 7)
    assert caught.value.expected == "at most 9999 bytes"

"""The hash of a string is Java's, computed over UTF-16 code units."""

import pytest

from cordwood.core.java_hash import absolute, java_hash, signed_int32

LOWEST = -(1 << 31)


@pytest.mark.parametrize(
    ("text", "hashed"),
    (
        ("group", 98629247),
        ("my-group", -1906497762),
        ("groupé", -1237460406),
        ("polygenelubricants", LOWEST),
        ("", 0),
    ),
)
def test_hash_is_javas(text: str, hashed: int) -> None:
    assert java_hash(text) == hashed


@pytest.mark.parametrize("text", ("x" * 200, "é" * 130, "\U0001f600" * 40, "a\udc00b"))
def test_hash_is_over_utf16_units_of_any_number(text: str) -> None:
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF

    assert java_hash(text) & 0xFFFF_FFFF == value


def test_sum_overflows_as_an_int() -> None:
    assert signed_int32((1 << 31) - 1 + 1) == LOWEST
    assert signed_int32(-1) == -1


def test_absolute_value_of_the_lowest_number_is_0() -> None:
    assert [absolute(each) for each in (LOWEST, -7, 7)] == [0, 7, 7]

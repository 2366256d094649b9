"""The partition of a key is Kafka's, computed over UTF-16 code units."""

import pytest

from cordwood.coordination.key_partition import java_hash, partition_for


@pytest.mark.parametrize(
    ("key", "hashed", "partition"),
    (
        ("group", 98629247, 47),
        ("test-group", 627841412, 12),
        ("my-group", -1906497762, 12),
        ("foo", 101574, 24),
        ("grp", 102629, 29),
        ("groupé", -1237460406, 6),
        ("", 0, 0),
    ),
)
def test_partition_of_a_key_is_kafkas(key: str, hashed: int, partition: int) -> None:
    assert java_hash(key) == hashed
    assert partition_for(key, 50) == partition


@pytest.mark.parametrize("text", ("x" * 200, "é" * 130, "\U0001f600" * 40, "a\udc00b"))
def test_hash_is_over_utf16_units_of_any_number(text: str) -> None:
    encoded = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for high, low in zip(encoded[::2], encoded[1::2], strict=True):
        value = (31 * value + (high << 8 | low)) & 0xFFFF_FFFF

    assert java_hash(text) & 0xFFFF_FFFF == value


def test_lowest_hash_has_partition_0() -> None:
    assert java_hash("polygenelubricants") == -(1 << 31)
    assert partition_for("polygenelubricants", 7) == 0

"""The partition of a key is Kafka's."""

import pytest

from cordwood.coordination.key_partition import partition_for


@pytest.mark.parametrize(
    ("key", "partition"),
    (
        ("group", 47),
        ("test-group", 12),
        ("my-group", 12),
        ("foo", 24),
        ("grp", 29),
        ("groupé", 6),
        ("", 0),
    ),
)
def test_partition_of_a_key_is_kafkas(key: str, partition: int) -> None:
    assert partition_for(key, 50) == partition


def test_lowest_hash_has_partition_0() -> None:
    assert partition_for("polygenelubricants", 7) == 0

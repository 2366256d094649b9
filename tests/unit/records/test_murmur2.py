"""Keys have the partitions that Kafka's own producer gives them."""

import pytest

from cordwood.records.murmur2 import murmur2, partition_of_key


# The values of org.apache.kafka.common.utils.Utils.murmur2, from its own tests.
@pytest.mark.parametrize(
    ("key", "digest"),
    (
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ),
)
def test_murmur2_is_javas(key: bytes, digest: int) -> None:
    assert murmur2(key) == digest & 0xFFFFFFFF


def test_partition_of_a_key_is_found_without_the_sign_as_in_java() -> None:
    assert partition_of_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10

"""Partitioners choose the partitions that Kafka's producer chooses."""

from cordwood.client.producer.partitioners import RoundRobin, StickyPartition, by_key
from cordwood.testing.seeded_random import SeededRandom


def test_by_key_chooses_no_partition_without_a_key() -> None:
    assert by_key(None, 3) is None


def test_by_key_drops_the_sign_as_java_does() -> None:
    assert by_key(b"21", 10) == (-973932308 & 0x7FFFFFFF) % 10


def test_round_robin_chooses_each_partition_in_turn() -> None:
    turn = RoundRobin()

    assert [turn(b"same", 3) for _ in range(4)] == [0, 1, 2, 0]


def test_sticky_partition_stays_until_a_batch_is_full() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=100)

    chosen = [sticky.choose("t", 50, size=60) for _ in range(8)]

    assert chosen[0::2] == chosen[1::2]
    assert len(set(chosen)) > 1


def test_sticky_partition_changes_when_its_partition_is_missing() -> None:
    sticky = StickyPartition(SeededRandom(3), switch_bytes=10_000)
    while sticky.choose("t", 50, size=10_000) == 0:
        pass

    assert sticky.choose("t", 1, size=1) == 0

"""Tests of the leaders that a response names."""

import pytest

from cordwood.broker.metadata.metadata_image import NO_LEADER, PartitionImage, TopicImage
from cordwood.broker.partitions.current_leaders import CurrentLeaders
from cordwood.broker.partitions.hosted_partitions import TopicRef
from cordwood.core.errors import KafkaStorageError
from cordwood.protocol.messages.current_leader import LeaderIdAndEpoch
from tests.unit.broker.broker_samples import ORDERS, BrokerHarness
from tests.unit.broker.image_samples import cluster
from tests.unit.storage.manager_samples import ORDERS_ID, OTHER_ID

REFS = (ORDERS, ORDERS_ID)


def leaders_of(
    harness: BrokerHarness, *states: PartitionImage, listener: str = "PLAINTEXT"
) -> CurrentLeaders:
    """Return leaders with an image of two brokers and these partitions."""
    image = cluster(TopicImage(ORDERS, ORDERS_ID, states), brokers=2)
    return CurrentLeaders(harness.broker.partitions, image, listener)


def pair(found: LeaderIdAndEpoch | None) -> tuple[int, int] | None:
    return None if found is None else (found.leader_id, found.leader_epoch)


def nodes(leaders: CurrentLeaders) -> list[tuple[int, str, int]]:
    return [(each.node_id, each.host, each.port) for each in leaders.endpoints()]


@pytest.mark.parametrize("ref", REFS)
def test_leader_of_a_hosted_partition_is_that_of_its_role(ref: TopicRef) -> None:
    harness = BrokerHarness()
    orders = harness.host(3)
    leaders = leaders_of(harness)

    own = pair(leaders.find(ref, 0))
    orders.apply(PartitionImage((1, 2), (1, 2), 2, 4))
    followed = pair(leaders.find(ref, 0))

    assert (own, followed) == ((1, 3), (2, 4))
    assert nodes(leaders) == [(1, "h", 9091), (2, "h", 9092)]


@pytest.mark.parametrize("ref", REFS)
def test_leader_of_a_partition_that_is_not_hosted_is_in_the_image(ref: TopicRef) -> None:
    leaders = leaders_of(BrokerHarness(), PartitionImage((2,), (2,), 2, 7))

    assert pair(leaders.find(ref, 0)) == (2, 7)
    assert nodes(leaders) == [(2, "h", 9092)]


def test_leader_of_an_offline_partition_is_in_the_image() -> None:
    harness = BrokerHarness()
    harness.host().go_offline(KafkaStorageError("lost"))
    leaders = leaders_of(harness, PartitionImage((1,), (1,), NO_LEADER, 7))

    assert pair(leaders.find(ORDERS, 0)) == (NO_LEADER, 7)
    assert leaders.endpoints() == []


@pytest.mark.parametrize(
    ("ref", "index"), (("others", 0), (OTHER_ID, 0), (ORDERS, 1), (ORDERS, -1))
)
def test_leader_of_an_unknown_partition_is_unknown(ref: TopicRef, index: int) -> None:
    leaders = leaders_of(BrokerHarness(), PartitionImage((2,), (2,), 2, 7))

    assert (leaders.find(ref, index), leaders.endpoints()) == (None, [])


def test_leader_without_the_listener_of_the_request_has_no_endpoint() -> None:
    leaders = leaders_of(BrokerHarness(), PartitionImage((2,), (2,), 2, 7), listener="SSL")

    assert pair(leaders.find(ORDERS, 0)) == (2, 7)
    assert leaders.endpoints() == []

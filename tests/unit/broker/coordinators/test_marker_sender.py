"""Tests of markers for the partitions of this broker."""

from cordwood.coordination.ports import TransactionMarker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from tests.unit.broker.broker_samples import run
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate

MARKER = TransactionMarker(7, 0, 0, is_commit=True, partitions=frozenset())


def named(topic: str, number: int = 0) -> TopicPartition:
    return TopicPartition(TopicName(topic), PartitionId(number))


async def errors_of(*partitions: TopicPartition, has_groups: bool = True) -> dict[str, int]:
    """Send a marker to partitions; return the codes of the errors."""
    async with coordinating() as harness:
        if has_groups:
            await locate(harness)
        marker = MARKER._replace(partitions=frozenset(partitions))
        errors = await harness.broker.coordinators.markers.send(marker)
        return {str(name): error.code for name, error in errors.items()}


def test_marker_is_written_into_data_and_offsets_partitions() -> None:
    found = run(errors_of(named("orders"), named("orders", 1), named("__consumer_offsets", 2)))

    assert found == {}


def test_partition_of_a_missing_topic_needs_no_marker() -> None:
    assert run(errors_of(named("none"), named("orders", 9))) == {}


def test_partition_that_is_not_led_here_is_tried_again() -> None:
    async def scene() -> dict[str, int]:
        async with coordinating() as harness:
            orders = harness.broker.partitions.get("orders", 0)
            state = harness.metadata.image.topics["orders"].partitions[0]
            orders.apply(state._replace(leader=2, leader_epoch=1))
            marker = MARKER._replace(partitions=frozenset({named("orders")}))
            errors = await harness.broker.coordinators.markers.send(marker)
            return {str(name): error.code for name, error in errors.items()}

    assert run(scene()) == {"orders-0": 6}


def test_group_coordinator_that_is_loading_is_no_leader() -> None:
    async def scene() -> dict[str, int]:
        async with coordinating() as harness:
            await locate(harness)
            runtime = harness.broker.coordinators.groups.runtime
            log = harness.broker.coordinators.group_log(0)
            runtime.resign(0)
            runtime.elect(log)
            marker = MARKER._replace(partitions=frozenset({named("__consumer_offsets")}))
            errors = await harness.broker.coordinators.markers.send(marker)
            return {str(name): error.code for name, error in errors.items()}

    assert run(scene()) == {"__consumer_offsets-0": 6}

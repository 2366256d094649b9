"""Tests of the coordinator of the keys of one topic."""

from cordwood.coordination.key_partition import partition_for
from tests.unit.broker.broker_samples import run
from tests.unit.broker.coordinators.coordinator_samples import coordinating, locate


def test_topic_that_is_missing_counts_as_it_would_be_created() -> None:
    async def scene() -> tuple[int, int]:
        async with coordinating(offsets_topic_num_partitions="11") as harness:
            groups = harness.broker.coordinators.groups
            return groups.partition_count, groups.partition_of("my-group")

    assert run(scene()) == (11, partition_for("my-group", 11))


def test_existing_topic_has_its_own_number_of_partitions() -> None:
    async def scene() -> int:
        async with coordinating(offsets_topic_num_partitions="2") as harness:
            await locate(harness)
            return harness.broker.coordinators.groups.partition_count

    assert run(scene()) == 2

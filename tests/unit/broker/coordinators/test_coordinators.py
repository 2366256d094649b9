"""Tests of the coordinators of a broker."""

import pytest

from cordwood.broker.config.config_resources import group_resource
from cordwood.broker.coordinators.coordinators import Coordinators
from cordwood.core.errors import NotCoordinatorError
from tests.unit.broker.broker_samples import run, turns
from tests.unit.broker.coordinators.coordinator_samples import (
    GROUP,
    TRANSACTION,
    coordinating,
    locate,
)


def test_both_topics_are_coordinated_and_given_up_at_the_end() -> None:
    async def scene() -> tuple[list[int], list[int], list[int]]:
        async with coordinating() as harness:
            await locate(harness, kind=GROUP)
            await locate(harness, kind=TRANSACTION)
            found = harness.broker.coordinators
            groups = sorted(found.groups.runtime.active_partitions())
            transactions = sorted(found.transactions.runtime.active_partitions())
        return groups, transactions, found.groups.runtime.active_partitions()

    assert run(scene()) == ([0, 1, 2], [0, 1, 2], [])


def test_log_of_a_partition_that_is_not_coordinated_here_is_an_error() -> None:
    async def scene() -> None:
        async with coordinating() as harness:
            harness.broker.coordinators.group_log(0)

    with pytest.raises(NotCoordinatorError):
        run(scene())


def test_partitions_that_are_led_at_the_start_are_coordinated() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            await harness.broker.topics.create_missing(["__consumer_offsets"])
            parts = harness.broker.coordinators.parts
            again = Coordinators(parts)
            again.start()
            await turns(20)
            found = again.groups.runtime.active_partitions()
            await again.stop()
            return found

    assert sorted(run(scene())) == [0, 1, 2]


def test_stored_settings_of_groups_count_from_the_start_on() -> None:
    async def scene() -> list[int]:
        async with coordinating() as harness:
            texts = {"consumer.session.timeout.ms": "50000"}
            harness.configs.apply(group_resource("billing"), texts)
            await harness.broker.topics.create_missing(["__consumer_offsets"])
            again = Coordinators(harness.broker.coordinators.parts)
            again.start()
            await turns(20)
            found = [
                each.configs.session_timeout_ms("billing") for each in again.groups.runtime.shards()
            ]
            await again.stop()
            return found

    assert run(scene()) == [50_000] * 3

"""Tests of the numbers of groups, offsets and transactional ids."""

from cordwood.broker.coordinators.coordinator_sizes import CoordinatorSizes
from cordwood.broker.handlers.consumer_groups import consumer_group_heartbeat
from cordwood.broker.handlers.group_offsets import offset_commit
from cordwood.broker.handlers.producers import init_producer_id
from cordwood.observability.exposition import expose
from cordwood.observability.metrics import Metrics
from cordwood.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from cordwood.protocol.messages.init_producer_id import InitProducerIdRequest
from tests.unit.broker.broker_samples import BrokerHarness, run, turns
from tests.unit.broker.coordinators.coordinator_samples import (
    TRANSACTION,
    coordinating,
    locate,
)
from tests.unit.coordination.offset_samples import commit_request


async def fill(harness: BrokerHarness) -> None:
    """Make a group of each kind, two offsets and a transactional id."""
    await locate(harness)
    await locate(harness, "t", TRANSACTION)
    joined = ConsumerGroupHeartbeatRequest(
        group_id="new",
        member_id="m",
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["orders"],
        topic_partitions=[],
    )
    await consumer_group_heartbeat(harness.broker, harness.context(1), joined)
    offsets = commit_request(("orders", 0, 5), ("orders", 1, 6))
    await offset_commit(harness.broker, harness.context(9), offsets)
    begun = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
    await init_producer_id(harness.broker, harness.context(4), begun)
    await turns(20)


def test_groups_offsets_and_ids_are_counted_by_state() -> None:
    async def scene() -> tuple[CoordinatorSizes, str]:
        async with coordinating() as harness:
            await fill(harness)
            sizes, metrics = CoordinatorSizes(harness.broker.coordinators), Metrics()
            sizes.register(metrics)
            steps = [*sizes.measure()]
            assert steps
            assert not any(steps)
            return sizes, "".join(expose(metrics))

    sizes, page = run(scene())
    assert sizes.groups == {("consumer", "Stable"): 1, ("classic", "Empty"): 1}
    assert sizes.offsets == {(): 2}
    assert sizes.transactional_ids == {("Empty",): 1}
    line = 'cordwood_coordinator_partitions{topic="__transaction_state",state="active"} 3'
    assert line in page.splitlines()


def test_sizes_are_those_of_the_last_measurement() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            sizes = CoordinatorSizes(harness.broker.coordinators)
            await fill(harness)
            measured = sizes.measure()
            next(measured)
            return sizes.groups, sizes.offsets

    assert run(scene()) == ({}, {(): 0})


def test_broker_counts_the_events_of_its_coordinators() -> None:
    async def scene() -> tuple[float, ...]:
        async with coordinating() as harness:
            await fill(harness)
            metrics = harness.broker.coordinators.parts.metrics
            return (
                metrics.counter("cordwood_group_offsets_committed_total").value,
                metrics.counter("cordwood_group_rebalances_total", "consumer").value,
                sum(
                    metrics.histogram("cordwood_coordinator_load_seconds", topic).counts[0]
                    for topic in ("__consumer_offsets", "__transaction_state")
                ),
            )

    assert run(scene()) == (2, 1, 6)

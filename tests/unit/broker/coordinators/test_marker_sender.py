"""Tests of markers for the partitions of this broker."""

import pytest

from cordwood.broker.coordinators.marker_sender import FEW, TransactionMarkerSender
from cordwood.broker.coordinators.txn_markers_request import MarkerRequest
from cordwood.broker.loop_turns import FIRST_TURNS_MS, TurnQueue
from cordwood.broker.peers.peer_channels import NoPeers
from cordwood.broker.peers.peer_request_queue import PeerRequestQueue
from cordwood.coordination.ports import TransactionMarker
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.testing.virtual_clock import VirtualClock
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


class BusyTurns(TurnQueue):
    """Turns of a loop whose present one has no time left; `taken` are the next ones."""

    def __init__(self) -> None:
        clock = VirtualClock()
        super().__init__(clock)
        self.taken = 0
        self.end_of_first_turn()
        clock.advance(ms=FIRST_TURNS_MS)

    async def next_turn(self) -> None:
        self.taken += 1
        await super().next_turn()


@pytest.mark.parametrize(("groups", "taken"), ((FEW - 2, 0), (FEW - 1, 1)))
def test_few_partitions_wait_for_no_turn_of_a_busy_loop(groups: int, taken: int) -> None:
    """The next transaction of the producer had to wait for the turns of all others."""

    async def scene() -> tuple[int, int]:
        async with coordinating() as harness:
            await locate(harness)
            offsets = [named("__consumer_offsets", each) for each in range(groups)]
            marker = MARKER._replace(
                partitions=frozenset({named("orders"), named("orders", 1), *offsets})
            )
            busy, broker = BusyTurns(), harness.broker
            end_in_groups = broker.coordinators.groups.runtime.end_transaction
            sender = TransactionMarkerSender(
                broker.partitions,
                broker.metadata,
                busy,
                end_in_groups,
                remote=PeerRequestQueue(MarkerRequest(lambda: 1), NoPeers()),
            )
            return len(await sender.send(marker)), busy.taken

    assert run(scene()) == (0, taken)


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

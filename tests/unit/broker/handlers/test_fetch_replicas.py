"""Fetches of followers, and of consumers from followers (KIP-392)."""

from dataclasses import replace

import pytest

from cordwood.broker.handlers.fetch import fetch
from cordwood.broker.metadata.metadata_image import PartitionImage
from cordwood.broker.settings.replication import RACK_AWARE_SELECTOR
from cordwood.cluster.fetchers.local_replicas import LeaderBounds
from cordwood.cluster.partition.leader import Leader
from cordwood.core.errors import NotLeaderOrFollowerError, OffsetOutOfRangeError
from cordwood.protocol.messages.fetch import FetchRequest, ReplicaState
from tests.unit.broker.broker_samples import BrokerHarness, meanwhile, run
from tests.unit.broker.handlers.test_fetch import (
    FIRST_WITH_REPLICA_STATE,
    IDS,
    LED_BY_2,
    NAMES,
    ask,
    batches,
    filled,
    partitions,
    records,
    request,
)
from tests.unit.broker.image_samples import broker, cluster
from tests.unit.storage.log_samples import batch


def replica_fetch(replica_id: int, offset: int, *, version: int, epoch: int = -1) -> FetchRequest:
    """Return the request of a follower, which states its id where the version has it."""
    asked = request(offset)
    asked.topics[0].partitions[0].current_leader_epoch = epoch
    if version < FIRST_WITH_REPLICA_STATE:
        asked.replica_id = replica_id
    else:
        asked.replica_state = ReplicaState(replica_id=replica_id, replica_epoch=70)
    return asked


@pytest.mark.parametrize("version", (NAMES, FIRST_WITH_REPLICA_STATE))
def test_follower_reads_to_the_log_end_and_advances_the_high_watermark(version: int) -> None:
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(PartitionImage((1, 2), (1, 2), 1, 1))
    orders.log.epoch_file.save()
    orders.append(memoryview(batch()))
    orders.append(memoryview(batch()))

    found = [
        partitions(ask(harness, asked, version=version))[0]
        for asked in (request(0), replica_fetch(2, 0, version=version), request(0))
    ]
    (last,) = partitions(ask(harness, replica_fetch(2, 1, version=version), version=version))
    (read,) = partitions(ask(harness, request(0), version=version))

    assert isinstance(orders.role, Leader)
    state = orders.role.replica(2)
    assert state is not None
    assert state.broker_epoch == (70 if version == FIRST_WITH_REPLICA_STATE else -1)
    assert [batches(each) for each in found] == [[], [(0, 0), (1, 1)], []]
    assert batches(last) == [(1, 1)]
    assert (batches(read), read.high_watermark) == ([(0, 0)], 1)


@pytest.mark.parametrize(("epoch", "error"), ((-1, 6), (0, 75)))
def test_broker_without_a_replica_reads_nothing(epoch: int, error: int) -> None:
    harness = filled(BrokerHarness(), batch())

    (found,) = partitions(ask(harness, replica_fetch(7, 0, version=NAMES, epoch=epoch)))

    assert (found.error_code, records(found)) == (error, b"")


def test_offset_out_of_range_of_a_follower_is_not_stored() -> None:
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(PartitionImage((1, 2), (1, 2), 1, 1))
    orders.log.epoch_file.save()
    orders.append(memoryview(batch()))

    (found,) = partitions(ask(harness, replica_fetch(2, 9, version=NAMES)))

    assert (found.error_code, orders.log.bounds.high_watermark) == (1, 0)


def followed(*sets: bytes | bytearray, high_watermark: int) -> BrokerHarness:
    """Return a broker whose partition follows broker 2 in epoch 5, with these records."""
    harness = BrokerHarness()
    orders = harness.host()
    orders.apply(LED_BY_2)
    data = memoryview(b"".join(sets))
    assert orders.followed(5).append(data, LeaderBounds(high_watermark, 0)) is None
    return harness


def test_consumer_reads_from_a_follower_up_to_its_high_watermark() -> None:
    harness = followed(batch(at=0, epoch=5), batch(at=1, epoch=5), high_watermark=1)

    found = [partitions(ask(harness, request(offset), version=IDS))[0] for offset in (0, 1, 2, 3)]

    assert [batches(each) for each in found] == [[(0, 0)], [], [], []]
    assert [(each.error_code, each.high_watermark) for each in found[:3]] == [(0, 1)] * 3
    assert found[3].error_code == OffsetOutOfRangeError.code


@pytest.mark.parametrize("version", (4, 10))
def test_older_consumer_reads_from_the_leader_alone(version: int) -> None:
    harness = followed(batch(epoch=5), high_watermark=1)

    (data,) = partitions(ask(harness, request(0), version=version))

    assert data.error_code == NotLeaderOrFollowerError.code


def test_follower_reads_from_the_leader_alone() -> None:
    harness = followed(batch(epoch=5), high_watermark=1)

    (data,) = partitions(ask(harness, replica_fetch(3, 0, version=NAMES)))

    assert data.error_code == NotLeaderOrFollowerError.code


def test_reader_of_a_follower_waits_for_its_high_watermark() -> None:
    harness = followed(batch(epoch=5), high_watermark=0)
    orders = harness.broker.partitions.get("orders", 0)

    over, response = run(
        meanwhile(
            fetch(harness.broker, harness.context(IDS), request(0, max_wait_ms=500)),
            lambda: orders.followed(5).append(memoryview(b""), LeaderBounds(1, 0)),
        )
    )

    assert over == [False]
    assert batches(partitions(response)[0]) == [(0, 0)]


def racked(rack: str | None = "b", *, selector: str | None = RACK_AWARE_SELECTOR) -> BrokerHarness:
    """Return a leader in rack a whose follower 2 is in this rack, and has both records."""
    harness = BrokerHarness(given={"replica.selector.class": selector} if selector else {})
    orders = harness.host()
    orders.apply(PartitionImage((1, 2), (1, 2), 1, 1))
    orders.log.epoch_file.save()
    for _ in range(2):
        orders.append(memoryview(batch()))
    orders.follower(2, leader_epoch=1, log_start=0)(2)
    nodes = {1: broker(1, "a"), 2: broker(2, rack)}
    harness.metadata.publish(replace(cluster(), brokers=nodes, epoch=9))
    return harness


def racked_request(rack: str) -> FetchRequest:
    asked = request(0, max_wait_ms=500)
    asked.rack_id = rack
    return asked


def test_leader_names_the_replica_in_the_consumers_rack() -> None:
    harness = racked()

    (data,) = partitions(ask(harness, racked_request("b"), version=IDS))

    assert (data.preferred_read_replica, data.error_code, records(data)) == (2, 0, b"")
    assert data.high_watermark == 2


@pytest.mark.parametrize(
    ("replica_rack", "selector", "rack"),
    (
        pytest.param("b", RACK_AWARE_SELECTOR, "a", id="leader's rack"),
        pytest.param("b", RACK_AWARE_SELECTOR, "", id="no rack"),
        pytest.param("b", RACK_AWARE_SELECTOR, "c", id="unknown rack"),
        pytest.param(None, RACK_AWARE_SELECTOR, "b", id="no rack of the replica"),
        pytest.param("b", None, "b", id="no selector"),
    ),
)
def test_leader_answers_itself(replica_rack: str | None, selector: str | None, rack: str) -> None:
    harness = racked(replica_rack, selector=selector)

    (data,) = partitions(ask(harness, racked_request(rack), version=IDS))

    assert data.preferred_read_replica == -1
    assert batches(data) == [(0, 0), (1, 1)]


def test_preferred_replica_is_in_each_response_of_a_session() -> None:
    harness = racked()
    opened = ask(harness, request(0, session=(0, 0)), version=IDS)
    asked = request(session=(opened.session_id, 1), max_wait_ms=500)
    asked.rack_id = "b"

    (data,) = partitions(ask(harness, asked, version=IDS))

    assert data.preferred_read_replica == 2

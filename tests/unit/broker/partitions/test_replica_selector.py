"""The leader selects an in-sync replica in the rack of the consumer that has its offset."""

import pytest

from cordwood.broker.partitions.replica_selector import ReplicaSelection
from cordwood.cluster.partition.leader import AssignedReplicas, Leader
from cordwood.core.types import LeaderEpoch

RACKS = {1: "a", 2: "b", 3: "b", 4: "b", 5: None}


def leader(isr: tuple[int, ...] = (1, 2, 3, 5)) -> Leader:
    """Return the leadership of broker 1; the followers have 0..10 or a part of it."""
    role = Leader(
        1,
        LeaderEpoch(1),
        assigned=AssignedReplicas((1, 2, 3, 4, 5), isr),
        epoch_start=0,
        now_ms=0,
    )
    fetched = {2: (10, 3), 3: (8, 0), 4: (10, 0), 5: (10, 0)}
    for each, (log_end, log_start) in fetched.items():
        replica = role.replica(each)
        assert replica is not None
        replica.record_fetch(log_end, leader_end=10, now_ms=5, log_start=log_start)
    return role


@pytest.mark.parametrize(
    ("rack", "offset", "found"),
    (
        pytest.param("b", 5, 2, id="the one with most records"),
        pytest.param("b", 1, 3, id="the other one is above the offset"),
        pytest.param("b", 9, 2, id="the other one is below the offset"),
        pytest.param("b", 11, None, id="no replica has it"),
        pytest.param("a", 5, None, id="the leader is near"),
        pytest.param("c", 5, None, id="no replica is near"),
    ),
)
def test_replica_in_the_consumers_rack_is_selected(
    rack: str, offset: int, found: int | None
) -> None:
    selection = ReplicaSelection(rack, RACKS, leader_id=1)

    assert selection.preferred(leader(), offset) == found


def test_replica_that_is_not_in_sync_is_not_selected() -> None:
    assert ReplicaSelection("b", RACKS, leader_id=1).preferred(leader((1, 5)), 5) is None


def test_broker_that_the_consumer_cannot_reach_is_not_selected() -> None:
    assert ReplicaSelection("b", {1: "a"}, leader_id=1).preferred(leader(), 5) is None


def test_replica_that_caught_up_last_is_selected_among_equal_ones() -> None:
    role = leader((1, 2, 4))
    for each, now_ms in ((2, 9), (4, 7)):
        replica = role.replica(each)
        assert replica is not None
        replica.record_fetch(10, leader_end=10, now_ms=now_ms, log_start=0)

    assert ReplicaSelection("b", RACKS, leader_id=1).preferred(role, 5) == 2

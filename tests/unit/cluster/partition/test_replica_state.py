"""Tests of a follower's state: it is caught up by its log end, or by time."""

from cordwood.cluster.partition.replica_state import NEVER, ReplicaState


def fetched(*fetches: tuple[int, int, float]) -> ReplicaState:
    replica = ReplicaState()
    for offset, leader_end, now_ms in fetches:
        replica.record_fetch(offset, leader_end=leader_end, now_ms=now_ms)
    return replica


def test_fetch_at_the_leaders_end_has_caught_up_at_its_time() -> None:
    assert fetched((10, 10, 100), (10, 20, 200)) == ReplicaState(10, 20, 200, 100)


def test_fetch_at_the_leaders_end_of_the_previous_fetch_had_caught_up_then() -> None:
    assert fetched((0, 10, 100), (10, 20, 200)) == ReplicaState(10, 20, 200, 100)


def test_fetch_below_both_ends_has_not_caught_up() -> None:
    assert fetched((0, 10, 100), (9, 20, 200)).last_caught_up_ms == NEVER


def test_first_fetch_below_the_leaders_end_has_never_caught_up() -> None:
    assert fetched((9, 10, 0)).last_caught_up_ms == NEVER


def test_last_caught_up_time_never_falls() -> None:
    assert fetched((10, 10, 100), (10, 20, 100), (30, 30, 50)).last_caught_up_ms == 100


def test_replica_with_the_whole_log_is_caught_up_at_any_time() -> None:
    replica = fetched((10, 10, 0))

    assert replica.is_caught_up(10, now_ms=1_000_000, max_lag_ms=30)


def test_replica_that_lacks_records_is_caught_up_for_the_maximum_lag() -> None:
    replica = fetched((10, 10, 100))

    assert replica.is_caught_up(11, now_ms=130, max_lag_ms=30)
    assert not replica.is_caught_up(11, now_ms=131, max_lag_ms=30)


def test_in_sync_replica_has_the_maximum_lag_for_its_first_fetch() -> None:
    replica = ReplicaState.at_election(is_in_sync=True, now_ms=100)

    assert replica.is_caught_up(11, now_ms=130, max_lag_ms=30)
    assert not replica.is_caught_up(11, now_ms=131, max_lag_ms=30)


def test_fetch_is_one_of_the_registration_that_has_sent_it() -> None:
    replica = ReplicaState(broker_epoch=62)

    assert replica.is_of(62)
    assert not replica.is_of(63)


def test_unknown_broker_epoch_is_one_of_each_registration() -> None:
    assert ReplicaState().is_of(62)
    assert ReplicaState(broker_epoch=62).is_of(-1)


def test_other_replica_is_not_caught_up_at_the_election_even_as_the_clock_starts() -> None:
    replica = ReplicaState.at_election(is_in_sync=False, now_ms=0)

    assert not replica.is_caught_up(11, now_ms=0, max_lag_ms=30_000)

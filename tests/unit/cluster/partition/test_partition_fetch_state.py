"""Tests of the state of a copied partition."""

import pytest

from cordwood.cluster.partition.partition_fetch_state import FetchPhase, PartitionFetchState
from cordwood.core.types import LeaderEpoch
from cordwood.core.uuids import NO_UUID

STATE = PartitionFetchState(
    version=0,
    topic_id=NO_UUID,
    leader_epoch=LeaderEpoch(4),
    phase=FetchPhase.FETCHING,
    fetch_offset=10,
    delayed_until_ms=100,
)


def test_partition_is_ready_in_its_phase_after_its_delay() -> None:
    assert STATE.is_ready(FetchPhase.FETCHING, now_ms=100)
    assert not STATE.is_ready(FetchPhase.FETCHING, now_ms=99)
    assert not STATE.is_ready(FetchPhase.APPLYING, now_ms=100)


@pytest.mark.parametrize(("lag", "is_in_sync"), ((None, False), (1, False), (0, True)))
def test_partition_is_in_sync_without_lag(lag: int | None, *, is_in_sync: bool) -> None:
    state = PartitionFetchState(
        version=0,
        topic_id=NO_UUID,
        leader_epoch=LeaderEpoch(4),
        phase=FetchPhase.FETCHING,
        fetch_offset=10,
        lag=lag,
    )

    assert state.is_in_sync is is_in_sync

"""Snapshots and epochs beyond the end of a log."""

import pytest

from cordwood.core.types import LeaderEpoch, Offset
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.workbench.verify.findings import Severity
from cordwood.workbench.verify.log_end_witnesses import LogEndWitnesses, check_log_end

EPOCHS = [EpochEntry(LeaderEpoch(0), Offset(0)), EpochEntry(LeaderEpoch(3), Offset(20))]


def severities(end: int, unsynced_from: int | None = None) -> list[Severity]:
    witnesses = LogEndWitnesses(EPOCHS, (10, 20), unsynced_from)
    return [each.severity for each in check_log_end("/d", witnesses, log_end=end)]


def test_offset_at_the_end_is_right() -> None:
    assert severities(20) == []


def test_epoch_and_snapshot_beyond_the_end_are_damage() -> None:
    assert severities(19) == [Severity.DAMAGE, Severity.DAMAGE]


@pytest.mark.parametrize(
    ("unsynced_from", "severity"), ((15, Severity.NOTE), (20, Severity.DAMAGE))
)
def test_records_that_were_not_fsynced_may_be_lost(unsynced_from: int, severity: Severity) -> None:
    assert set(severities(19, unsynced_from)) == {severity}


def test_finding_names_the_file_and_the_lost_offsets() -> None:
    (found,) = check_log_end("/d", LogEndWitnesses((), (30,)), log_end=19)

    assert found.path == f"/d/{30:020}.snapshot"
    assert (found.first_offset, found.end_offset) == (19, 30)

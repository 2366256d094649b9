"""Leader epochs of the partitions that a broker leads from its start on.

Kafka: `PartitionStateMachine`, `PartitionChangeBuilder`. The rule for a partition with a log here:

    epoch      at least the stored one, and the latest in the log
    plus 1     if the records in that epoch may differ from those that clients have read: after an
               unclean shutdown, in a log that was created again, or under another leader, which is
               visible as a log with a later epoch than the stored one
    unchanged  after a clean shutdown

A partition without a stored state has been written by an earlier owner, whose epoch may have been
higher than the log shows, unless its log is new.
"""

from typing import NamedTuple

from cordwood.core.partition_state import PartitionState
from cordwood.core.uuids import Uuid


class FoundLog(NamedTuple):
    """The log of a partition at startup; `latest_epoch` is None for a log without epochs."""

    directory: Uuid | None
    latest_epoch: int | None = None
    is_clean: bool = True
    is_new: bool = False


def elect(stored: PartitionState | None, log: FoundLog, *, node_id: int) -> PartitionState:
    """Return the state with which this broker leads a partition."""
    if stored is None and log.is_new:
        return PartitionState(node_id, 0, (node_id,), log.directory)
    known = -1 if stored is None else stored.leader_epoch
    latest = -1 if log.latest_epoch is None else log.latest_epoch
    is_same_leadership = log.is_clean and not log.is_new and latest <= known
    epoch = max(known, latest, 0) + (not is_same_leadership)
    return PartitionState(node_id, epoch, (node_id,), log.directory)

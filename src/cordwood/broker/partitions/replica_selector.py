"""Replica from which a consumer should read (Kafka: `RackAwareReplicaSelector`, KIP-392).

The leader selects an in-sync replica in the rack of the consumer that has its fetch offset; of
several, the one that has most records, then the one that caught up last. The consumer reads from
the leader if that is in its rack, or if no replica is.
"""

from collections.abc import Mapping
from typing import NamedTuple

from cordwood.cluster.partition.leader import Leader


class ReplicaSelection(NamedTuple):
    """A consumer's rack, and the racks of the brokers that it can reach."""

    rack: str
    racks: Mapping[int, str | None]
    leader_id: int

    def preferred(self, role: Leader, offset: int) -> int | None:
        """Return the replica for a fetch from `offset`; None if the leader is to be used."""
        if self.racks.get(self.leader_id) == self.rack:
            return None
        found = max(
            (
                (replica.log_end, replica.last_caught_up_ms, replica_id)
                for replica_id in role.isr
                if self.racks.get(replica_id) == self.rack
                and (replica := role.replica(replica_id)) is not None
                and replica.log_start <= offset <= replica.log_end
            ),
            default=None,
        )
        return None if found is None else found[2]

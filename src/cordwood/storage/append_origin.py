"""Origin of an append (Kafka: `AppendOrigin`); it decides the checks and who assigns offsets."""

from enum import Enum, auto


class AppendOrigin(Enum):
    """A producer, a coordinator on this broker, a quorum's leader, or the leader of a replica.

    Recovery replays a log as REPLICATION.
    """

    CLIENT = auto()
    COORDINATOR = auto()
    RAFT_LEADER = auto()
    REPLICATION = auto()

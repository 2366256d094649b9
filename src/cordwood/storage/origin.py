"""Who appends to a log. On it depends what is checked, and whether offsets are given or taken."""

from enum import Enum, auto


class Origin(Enum):
    """From a producer, a coordinator on this broker, a quorum's leader, or the leader of a replica.

    Recovery replays a log as REPLICATION.
    """

    CLIENT = auto()
    COORDINATOR = auto()
    RAFT_LEADER = auto()
    REPLICATION = auto()

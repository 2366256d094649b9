"""State of one partition that a follower copies from its leader (Kafka: `PartitionFetchState`).

             ┌─► ASKING_EPOCH ──┐ truncations are steps of APPLYING
    add ─────┼─► APPLYING ◄─────┼─► FETCHING ◄──► APPLYING      records, bounds, truncations
             └─► FETCHING       │      │ OFFSET_OUT_OF_RANGE
                                │      ▼
                                └── FINDING_END ──► FINDING_START
    FAILED    until the next leader epoch, or until the partition is added again

A state is a value, and each step gives the next one a new version. A response counts only while the
partition still has the version with which the request was sent. So a response from before a new
leader epoch, a truncation or a removal is discarded. A delay leaves the phase as it is.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from cordwood.core.errors import KafkaError
from cordwood.core.types import NO_LEADER_EPOCH, LeaderEpoch
from cordwood.core.uuids import Uuid

NOT_DELAYED: Final = 0.0


class FetchPhase(Enum):
    """The next request or step of a partition."""

    #: Ask the leader for the end offset of the log's latest epoch.
    ASKING_EPOCH = "asking epoch"
    FETCHING = "fetching"
    #: The fetch offset is out of range: find the leader's log end, and then perhaps its log start.
    FINDING_END = "finding end"
    FINDING_START = "finding start"
    #: The local log is being changed, as an action has stated.
    APPLYING = "applying"
    FAILED = "failed"


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionFetchState:
    """A partition of one leader epoch; `last_epoch` is the epoch of the record before the offset.

    `lag` is the distance to the leader's high watermark, None before the first response; that of a
    replica in sync is 0 until then.
    """

    version: int
    topic_id: Uuid
    leader_epoch: LeaderEpoch
    phase: FetchPhase
    fetch_offset: int
    last_epoch: LeaderEpoch = NO_LEADER_EPOCH
    delayed_until_ms: float = NOT_DELAYED
    lag: int | None = None
    error: KafkaError | None = None

    @property
    def is_in_sync(self) -> bool:
        """Whether the follower has all records that count; such a one is not throttled."""
        return self.lag is not None and self.lag <= 0

    def is_ready(self, phase: FetchPhase, *, now_ms: float) -> bool:
        """Return whether the partition may be in a request of this phase now."""
        return self.phase is phase and now_ms >= self.delayed_until_ms

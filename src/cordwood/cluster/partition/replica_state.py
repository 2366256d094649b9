"""State of a follower as its leader sees it (Kafka: `ReplicaState`, `Replica`).

    log_end              the follower has the records below it: its last fetch offset
    leader_end           log end of the leader at that fetch
    last_fetch_ms        time of that fetch
    last_caught_up_ms    latest time at which the follower had all records that the leader had then
    log_start            log start of the follower at that fetch
    broker_epoch         registration of the broker that has sent that fetch; -1 if it is unknown

A fetch at the leader's log end has caught up now. A fetch at the log end of the previous fetch had
caught up at that fetch: under a constant load a follower never fetches at the present log end.
"""

import math
from dataclasses import dataclass
from typing import Final, Self

#: The log end of a follower that has not fetched in this leader epoch.
UNKNOWN_OFFSET: Final = -1
#: Before every time of every clock. Kafka has 0, which a clock that starts at 0 can be close to.
NEVER: Final = -math.inf
NO_BROKER_EPOCH: Final = -1


@dataclass(slots=True)
class ReplicaState:
    """A follower in one leader epoch."""

    log_end: int = UNKNOWN_OFFSET
    leader_end: int = UNKNOWN_OFFSET
    last_fetch_ms: float = NEVER
    last_caught_up_ms: float = NEVER
    broker_epoch: int = NO_BROKER_EPOCH
    log_start: int = UNKNOWN_OFFSET

    @classmethod
    def at_election(cls, *, is_in_sync: bool, now_ms: float) -> Self:
        """Return the state at the start of a leader epoch.

        An in-sync follower has the whole `replica.lag.time.max.ms` for its first fetch. Another one
        never caught up, so it does not hold back the high watermark.
        """
        return cls(last_caught_up_ms=now_ms if is_in_sync else NEVER)

    def record_fetch(
        self,
        offset: int,
        *,
        leader_end: int,
        now_ms: float,
        log_start: int = UNKNOWN_OFFSET,
        broker_epoch: int = NO_BROKER_EPOCH,
    ) -> None:
        """Store a fetch from `offset`, while the leader's log ended at `leader_end`."""
        if offset >= leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.leader_end:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_end, self.leader_end, self.last_fetch_ms = offset, leader_end, now_ms
        self.log_start, self.broker_epoch = log_start, broker_epoch

    def is_of(self, broker_epoch: int) -> bool:
        """Return whether the last fetch came from this registration of the broker.

        A broker that has registered again since may have lost the end of its log (KIP-903).
        """
        return NO_BROKER_EPOCH in {self.broker_epoch, broker_epoch} or (
            self.broker_epoch == broker_epoch
        )

    def is_caught_up(self, leader_end: int, *, now_ms: float, max_lag_ms: float) -> bool:
        """Return whether the follower has the whole log, or had it `max_lag_ms` ago or later."""
        return self.log_end == leader_end or now_ms - self.last_caught_up_ms <= max_lag_ms

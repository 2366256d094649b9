"""Timers of members (Kafka: `GroupMetadataManager.scheduleConsumerGroupSessionTimeout` and others).

    session     no heartbeat came                      every member
    rebalance   partitions were not given up           UNREVOKED_PARTITIONS, in one member epoch
    join        no JoinGroup followed a rebalance      classic protocol
    sync        no SyncGroup followed a JoinGroup      classic protocol

Each of them fences its member.
"""

from typing import Final

from cordwood.coordination.outcome import TimerChange, TimerKey

SESSION: Final = "consumer-session"
REBALANCE: Final = "consumer-rebalance"
JOIN: Final = "consumer-join"
SYNC: Final = "consumer-sync"
KINDS: Final = (SESSION, REBALANCE, JOIN, SYNC)


def session_timer(group_id: str, member_id: str, *, at_ms: int) -> TimerChange:
    """Return the change that sets a member's session timer."""
    return TimerChange((SESSION, group_id, member_id), at_ms)


class MemberTimers:
    """Timers with a condition: the epoch of a rebalance timer, and whether a join timer is set."""

    def __init__(self) -> None:
        self._rebalance_epochs = dict[TimerKey, int]()
        self._joins = set[TimerKey]()

    def rebalance(self, group_id: str, member_id: str, *, epoch: int, at_ms: int) -> TimerChange:
        """Set the timer of a member that has to give up partitions in its epoch."""
        key = (REBALANCE, group_id, member_id)
        self._rebalance_epochs[key] = epoch
        return TimerChange(key, at_ms)

    def cancel_rebalance(self, group_id: str, member_id: str) -> TimerChange:
        """Cancel the timer of a member that has given up its partitions."""
        key = (REBALANCE, group_id, member_id)
        self._rebalance_epochs.pop(key, None)
        return TimerChange(key, None)

    def join_if_absent(self, group_id: str, member_id: str, *, at_ms: int) -> list[TimerChange]:
        """Set the timer of a member that has to join again, unless it is set already."""
        key = (JOIN, group_id, member_id)
        if key in self._joins:
            return []
        self._joins.add(key)
        return [TimerChange(key, at_ms)]

    def cancel_join(self, group_id: str, member_id: str) -> TimerChange:
        """Cancel the timer of a member that has joined."""
        key = (JOIN, group_id, member_id)
        self._joins.discard(key)
        return TimerChange(key, None)

    def sync(self, group_id: str, member_id: str, *, at_ms: int) -> TimerChange:
        """Set the timer of a member that has joined."""
        return TimerChange((SYNC, group_id, member_id), at_ms)

    def cancel_sync(self, group_id: str, member_id: str) -> TimerChange:
        """Cancel the timer of a member that has received its assignment."""
        return TimerChange((SYNC, group_id, member_id), None)

    def cancel_all(self, group_id: str, member_id: str) -> list[TimerChange]:
        """Cancel all timers of a member that has left."""
        return [
            TimerChange((SESSION, group_id, member_id), None),
            self.cancel_rebalance(group_id, member_id),
            self.cancel_join(group_id, member_id),
            self.cancel_sync(group_id, member_id),
        ]

    def expire(self, key: TimerKey, *, member_epoch: int) -> bool:
        """Forget a timer that has fired; return whether its member is fenced."""
        self._joins.discard(key)
        return self._rebalance_epochs.pop(key, member_epoch) == member_epoch

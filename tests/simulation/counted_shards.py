"""Shards with the short timeouts of a simulation, which count the timers that end something."""

from typing import Final

from cordwood.coordination.group_shard import GroupShard
from cordwood.coordination.groups.classic.classic_group_event import SESSION_TIMER
from cordwood.coordination.groups.consumer.member_timers import SESSION
from cordwood.coordination.groups.group_settings import GroupSettings
from cordwood.coordination.outcome import Outcome, TimerKey
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_timers import TIMEOUTS
from cordwood.testing.seeded_random import SeededRandom
from tests.simulation.world import World

_SESSIONS: Final = frozenset({SESSION_TIMER, SESSION})

GROUP_SETTINGS: Final = GroupSettings(
    min_session_timeout_ms=1_000,
    initial_rebalance_delay_ms=200,
    new_member_join_timeout_ms=5_000,
    consumer_session_timeout_ms=3_000,
    consumer_min_session_timeout_ms=1_000,
    consumer_heartbeat_interval_ms=700,
    consumer_min_heartbeat_interval_ms=100,
    consumer_assignment_interval_ms=300,
)
TRANSACTION_SETTINGS: Final = TransactionSettings(abort_timed_out_interval_ms=1_000)


class CountedGroupShard(GroupShard):
    """A shard that counts the sessions that end by a timer."""

    def __init__(self, world: World, random: SeededRandom) -> None:
        super().__init__(GROUP_SETTINGS, random=random)
        self._world = world

    def on_timer(self, key: TimerKey, now_ms: int) -> Outcome:
        if key[0] in _SESSIONS:
            self._world.count("sessions expired")
        return super().on_timer(key, now_ms)


class CountedTransactionShard(TransactionShard):
    """A shard that counts the transactions that end by a timer."""

    def __init__(self, world: World, coordinator_epoch: int) -> None:
        super().__init__(TRANSACTION_SETTINGS, coordinator_epoch=coordinator_epoch)
        self._world = world

    def on_timer(self, key: TimerKey, now_ms: int) -> TransactionOutcome:
        outcome = super().on_timer(key, now_ms)
        if key == TIMEOUTS:
            self._world.counts["transactions timed out"] += len(outcome.completions)
        return outcome

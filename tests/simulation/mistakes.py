"""Mistakes of coordinators, planted one at a time to prove that the simulation finds them.

Each changes one step: a check that always passes, an answer that comes too early, a step that is
left out. Each names the invariants of which one has to find it.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Final, NamedTuple

import pytest

from cordwood.coordination.coordinator_record import StoredMarker, StoredRecord
from cordwood.coordination.groups.classic.classic_group import ClassicGroup
from cordwood.coordination.groups.classic.classic_group_event import ClassicGroupEvent
from cordwood.coordination.groups.consumer import current_assignment
from cordwood.coordination.groups.consumer.consumer_group_manager import ConsumerGroupManager
from cordwood.coordination.groups.consumer.group.consumer_group import ConsumerGroup
from cordwood.coordination.groups.consumer.member_timers import SESSION
from cordwood.coordination.offsets.committed_offset import CommittedOffset
from cordwood.coordination.offsets.offset_store import OffsetStore
from cordwood.coordination.outcome import Outcome, TimerKey
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.active_shard import ActiveShard
from cordwood.coordination.runtime.coordinator_shard import CoordinatorShard
from cordwood.coordination.runtime.long_events import LongEvents
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import TransactionOutcome
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_timers import TIMEOUTS, TransactionTimers
from cordwood.core.types import NO_PRODUCER_ID
from cordwood.storage.producers.ongoing_transactions import OngoingTransactions
from tests.simulation.invariants import CONVERGED, ENDS, ONCE, SERVED
from tests.simulation.offset_ledger import COMMITTED
from tests.simulation.ownership import OWNERSHIP
from tests.simulation.simulation import KINDS, SOUND, Simulation
from tests.simulation.transaction_ledger import ATOMICITY, FENCED, KEPT, STABLE

Plant = Callable[[pytest.MonkeyPatch], None]


_CLASSIC: Final = frozenset({"eager", "cooperative", "mixed"})
_CONSUMER: Final = frozenset({"consumer", "mixed"})


class Mistake(NamedTuple):
    """A mistake, the invariants that it violates, and the scenes that have the mistaken step."""

    plant: Plant
    invariants: frozenset[str]
    #: The kinds of the group.
    kinds: frozenset[str] = frozenset(KINDS)
    #: Whether there is a producer without a membership.
    has_writer: bool = False

    def is_in(self, simulation: Simulation) -> bool:
        """Return whether a simulation can have the mistake."""
        return simulation.kind in self.kinds and not (self.has_writer and simulation.is_exact)


def _replaced(owner: type, name: str, made: object) -> Plant:
    def plant(patch: pytest.MonkeyPatch) -> None:
        patch.setattr(owner, name, made)

    return plant


def _not_fenced(patch: pytest.MonkeyPatch) -> None:
    raised = TransactionMetadata.with_next_epoch

    def same(
        metadata: TransactionMetadata, timeout_ms: int, *, last_epoch: int, now_ms: int
    ) -> TransactionMetadata:
        after = raised(metadata, timeout_ms, last_epoch=last_epoch, now_ms=now_ms)
        return after._replace(producer_epoch=max(0, metadata.producer_epoch))

    patch.setattr(TransactionMetadata, "with_next_epoch", same)


def _markers_first(patch: pytest.MonkeyPatch) -> None:
    handle = ActiveShard._handle  # noqa: SLF001  the step itself is patched

    def early(active: ActiveShard[TransactionShard], outcome: Outcome) -> None:
        if outcome.records and isinstance(outcome, TransactionOutcome):
            active.perform(TransactionOutcome(completions=outcome.completions))
            outcome.completions = []
        handle(active, outcome)

    patch.setattr(ActiveShard, "_handle", early)


def _answered_first(patch: pytest.MonkeyPatch) -> None:
    handle = ActiveShard._handle  # noqa: SLF001  as above

    def early(active: ActiveShard[CoordinatorShard], outcome: Outcome) -> None:
        handle(active, outcome)
        # Those of a rejected append have been given.
        for answer in outcome.answers:
            active.calls.give(answer)

    patch.setattr(ActiveShard, "_handle", early)


def _no_consumer_sessions(patch: pytest.MonkeyPatch) -> None:
    on_timer = ConsumerGroupManager.on_timer

    def ignoring(manager: ConsumerGroupManager, key: TimerKey, now_ms: int) -> Outcome:
        return Outcome() if key[0] == SESSION else on_timer(manager, key, now_ms)

    patch.setattr(ConsumerGroupManager, "on_timer", ignoring)


def _generation_stays(patch: pytest.MonkeyPatch) -> None:
    begin = ClassicGroup.begin_generation

    def same(group: ClassicGroup, now_ms: int) -> None:
        begin(group, now_ms)
        group.generation = max(1, group.generation - 1)

    patch.setattr(ClassicGroup, "begin_generation", same)


def _visible_at_once(patch: pytest.MonkeyPatch) -> None:
    replay = OffsetStore.replay

    def plain(store: OffsetStore, stored: StoredRecord) -> None:
        replay(store, stored._replace(producer_id=NO_PRODUCER_ID))

    patch.setattr(OffsetStore, "replay", plain)


def _always_committed(patch: pytest.MonkeyPatch) -> None:
    replay = OffsetStore.replay_marker

    def commit(store: OffsetStore, marker: StoredMarker) -> None:
        replay(store, marker._replace(is_commit=True))

    patch.setattr(OffsetStore, "replay_marker", commit)


def _not_resumed(patch: pytest.MonkeyPatch) -> None:
    finish = TransactionShard.finish_load

    def forgetful(shard: TransactionShard, now_ms: int) -> TransactionOutcome:
        outcome = finish(shard, now_ms)
        outcome.completions = []
        return outcome

    patch.setattr(TransactionShard, "finish_load", forgetful)


def _no_timeouts(patch: pytest.MonkeyPatch) -> None:
    start = TransactionTimers.start
    patch.setattr(
        TransactionTimers,
        "start",
        lambda timers, now_ms: [each for each in start(timers, now_ms) if each.key != TIMEOUTS],
    )


def _given_early(patch: pytest.MonkeyPatch) -> None:
    added = current_assignment._added  # noqa: SLF001  as above
    patch.setattr(
        current_assignment,
        "_added",
        lambda member, kept, *, step: added(
            member, kept, step=replace(step, is_held=lambda *_: False)
        ),
    )


def _last_open(transactions: OngoingTransactions) -> int | None:
    return next(reversed(transactions._open), None)  # noqa: SLF001  as above


def _replace_always(
    store: OffsetStore, group_id: str, topic: str, *, offsets: Mapping[int, CommittedOffset]
) -> None:
    store._committed.put_all(group_id, topic, values=offsets)  # noqa: SLF001  as above


MISTAKES: Final[Mapping[str, Mistake]] = MappingProxyType(
    {
        "a new producer gets the epoch of the last one": Mistake(
            _not_fenced, frozenset({FENCED, ATOMICITY})
        ),
        "markers are written before the Prepare record counts": Mistake(
            _markers_first, frozenset({ATOMICITY, KEPT, STABLE, ONCE})
        ),
        "answers are given before the records count": Mistake(
            _answered_first, frozenset({KEPT, ATOMICITY, ONCE})
        ),
        "open transactions do not hold the last stable offset": Mistake(
            _replaced(OngoingTransactions, "first_undecided_offset", property(lambda _: None)),
            frozenset({ATOMICITY, STABLE}),
        ),
        "the last open transaction decides the last stable offset": Mistake(
            _replaced(
                OngoingTransactions,
                "first_undecided_offset",
                property(_last_open),
            ),
            frozenset({ATOMICITY, STABLE}),
        ),
        "a classic member has no session": Mistake(
            _replaced(ClassicGroupEvent, "start_session", lambda *_: None),
            frozenset({CONVERGED}),
            _CLASSIC,
        ),
        "a consumer member has no session": Mistake(
            _no_consumer_sessions, frozenset({CONVERGED}), _CONSUMER
        ),
        "a join that waits is lost": Mistake(
            _replaced(ClassicGroupEvent, "wait_for_join", lambda *_: None),
            frozenset({SERVED, CONVERGED}),
            _CLASSIC,
        ),
        "a rebalance keeps the generation": Mistake(
            _generation_stays, frozenset({OWNERSHIP}), _CLASSIC
        ),
        "a classic group takes commits of former members": Mistake(
            _replaced(ClassicGroup, "validate_offset_commit", lambda *_: None),
            frozenset({COMMITTED, ONCE}),
            _CLASSIC,
        ),
        "a consumer group takes commits of former members": Mistake(
            _replaced(ConsumerGroup, "validate_offset_commit", lambda *_: None),
            frozenset({COMMITTED, ONCE}),
            _CONSUMER,
        ),
        "partitions are given before they are released": Mistake(
            _given_early, frozenset({OWNERSHIP}), _CONSUMER
        ),
        "offsets of open transactions count": Mistake(
            _visible_at_once, frozenset({COMMITTED, KEPT, ONCE})
        ),
        "offsets of aborted transactions count": Mistake(
            _always_committed, frozenset({COMMITTED, KEPT, ONCE})
        ),
        "an offset of a transaction replaces a later one": Mistake(
            _replaced(
                OffsetStore,
                "_materialize",
                _replace_always,
            ),
            frozenset({COMMITTED, KEPT}),
            has_writer=True,
        ),
        "a marker that is rejected is given up": Mistake(
            _replaced(
                TransactionMarker,
                "remaining",
                lambda marker, _: marker._replace(partitions=frozenset()),
            ),
            frozenset({ENDS, KEPT, ATOMICITY}),
        ),
        "a loaded coordinator does not resume markers": Mistake(
            _not_resumed, frozenset({ENDS, KEPT})
        ),
        "transactions never time out": Mistake(_no_timeouts, frozenset({ENDS})),
        "events do not wait for a long event": Mistake(
            _replaced(LongEvents, "holds", lambda *_: False),
            frozenset({OWNERSHIP, COMMITTED, ATOMICITY, KEPT, CONVERGED, SERVED, SOUND}),
        ),
    }
)

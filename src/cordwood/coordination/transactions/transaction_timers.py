"""Timers of a transaction shard (Kafka: `abortTimedOutTransactions`, `transactionalId-expiration`).

timeouts      fences the producers of transactions that have timed out, and aborts them
expiration    writes tombstones for ids that are not used any more
complete, id  writes the record of a completed transaction again, after a rejected append
"""

from functools import partial
from typing import Final

from cordwood.coordination.outcome import CoordinatorEvent, Outcome, TimerChange, TimerKey, counted
from cordwood.coordination.transactions.end_transaction import prepare_fenced_abort
from cordwood.coordination.transactions.transaction_appends import TransactionAppends
from cordwood.coordination.transactions.transaction_maintenance import (
    expired,
    is_timed_out,
    timed_out,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_outcome import (
    ProducerIdRequest,
    TransactionOutcome,
)
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import KafkaError, NotCoordinatorError

TIMEOUTS: Final[TimerKey] = ("timeouts",)
EXPIRATION: Final[TimerKey] = ("expiration",)
_COMPLETE: Final = "complete"
_RETRY_COMPLETE_MS: Final = 100


class TransactionTimers:
    """The events of a shard that begin with a timer, or that are repeated by one."""

    def __init__(self, appends: TransactionAppends) -> None:
        self._appends = appends

    def start(self, now_ms: int) -> list[TimerChange]:
        """Return the timers of a loaded shard."""
        settings = self._appends.settings
        return [
            TimerChange(TIMEOUTS, now_ms + settings.abort_timed_out_interval_ms),
            TimerChange(EXPIRATION, now_ms + settings.remove_expired_interval_ms),
        ]

    def fire(self, key: TimerKey, now_ms: int) -> TransactionOutcome:
        """Return the outcome of a timer that is due."""
        if key == TIMEOUTS:
            return self._abort_timed_out(now_ms)
        if key == EXPIRATION:
            return self._remove_expired(now_ms)
        kind, transactional_id = key
        assert kind == _COMPLETE, f"unknown timer {key}"
        return self.complete(transactional_id, now_ms)

    def complete(self, transactional_id: str, now_ms: int) -> TransactionOutcome:
        """Write the record of a transaction whose markers are all written."""
        registry = self._appends.registry
        metadata = registry.get(transactional_id)
        is_waiting = metadata is not None and metadata.state.is_prepared
        if metadata is None or not is_waiting or registry.is_changing(transactional_id):
            return TransactionOutcome()

        def failed(error: KafkaError, later_ms: int) -> Outcome:
            if isinstance(error, NotCoordinatorError):
                return TransactionOutcome()
            timer = TimerChange((_COMPLETE, transactional_id), later_ms + _RETRY_COMPLETE_MS)
            return TransactionOutcome(timers=[timer])

        return self._appends.append([metadata.completed(now_ms)], on_failure=failed)

    def _abort_timed_out(self, now_ms: int) -> TransactionOutcome:
        found = timed_out(self._appends.registry, now_ms=now_ms)
        decided = [self._aborted(each, None, now_ms) for each in found.transactions]
        aborted = [each for each in decided if each is not None]
        # A scan that aborts nothing waits for producer ids: it must not be repeated at once.
        is_repeated = found.has_more and bool(aborted)
        interval_ms = 0 if is_repeated else self._appends.settings.abort_timed_out_interval_ms
        outcome = self._repeated(TIMEOUTS, now_ms + interval_ms, aborted)
        outcome.events = counted(CoordinatorEvent.TRANSACTION_TIMED_OUT, aborted)
        outcome.producer_id_requests += [
            ProducerIdRequest(partial(self._abort_with, each.transactional_id), _ignore)
            for each in found.transactions
            if not self._appends.registry.is_changing(each.transactional_id)
        ]
        return outcome

    def _abort_with(
        self, transactional_id: str, producer_id: int, now_ms: int
    ) -> TransactionOutcome:
        """Abort a transaction that needed a producer id, if it is still the one to abort."""
        registry = self._appends.registry
        metadata = registry.get(transactional_id)
        if metadata is None or registry.is_pending(transactional_id):
            return TransactionOutcome()
        if not is_timed_out(metadata, now_ms):
            return TransactionOutcome()
        aborted = self._aborted(metadata, producer_id, now_ms)
        assert aborted is not None, "the producer id is given"
        outcome = self._appends.append([aborted])
        outcome.events = counted(CoordinatorEvent.TRANSACTION_TIMED_OUT, [aborted])
        return outcome

    def _aborted(
        self, metadata: TransactionMetadata, producer_id: int | None, now_ms: int
    ) -> TransactionMetadata | None:
        level = self._appends.settings.transaction_version
        return prepare_fenced_abort(metadata, level=level, producer_id=producer_id, now_ms=now_ms)

    def _remove_expired(self, now_ms: int) -> TransactionOutcome:
        settings = self._appends.settings
        found = expired(self._appends.registry, settings, now_ms=now_ms)
        interval_ms = 0 if found.has_more else settings.remove_expired_interval_ms
        dead = [each.to(TransactionState.DEAD) for each in found.transactions]
        return self._repeated(EXPIRATION, now_ms + interval_ms, dead)

    def _repeated(
        self, key: TimerKey, at_ms: int, transitions: list[TransactionMetadata]
    ) -> TransactionOutcome:
        """Append transitions, if there are any, and set the timer again either way."""
        if not transitions:
            return TransactionOutcome(timers=[TimerChange(key, at_ms)])

        def failed(_: KafkaError, later_ms: int) -> Outcome:
            settings = self._appends.settings
            is_scan = key == TIMEOUTS
            interval_ms = (
                settings.abort_timed_out_interval_ms
                if is_scan
                else settings.remove_expired_interval_ms
            )
            return TransactionOutcome(timers=[TimerChange(key, later_ms + interval_ms)])

        outcome = self._appends.append(transitions, on_failure=failed)
        outcome.timers.append(TimerChange(key, at_ms))
        return outcome


def _ignore(_: KafkaError, __: int) -> TransactionOutcome:
    """Leave the transaction to the next scan."""
    return TransactionOutcome()

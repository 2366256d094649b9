"""Choice of transactions that have timed out, and of expired ids."""

import pytest

from cordwood.coordination.transactions.transaction_log import transaction_record
from cordwood.coordination.transactions.transaction_maintenance import (
    PASS_BYTES,
    MaintenancePass,
    expired,
    is_timed_out,
    timed_out,
)
from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_registry import TransactionRegistry
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState
from tests.unit.coordination.transaction_samples import NOW, metadata

ONGOING = metadata(TransactionState.ONGOING)._replace(start_ms=1_000, timeout_ms=500)
SETTINGS = TransactionSettings(id_expiration_ms=5_000)
OLD = metadata()._replace(last_update_ms=NOW - 5_000)


def registry_of(*transactions: TransactionMetadata) -> TransactionRegistry:
    registry = TransactionRegistry()
    for each in transactions:
        registry.replay(transaction_record(each, version=1))
    return registry


@pytest.mark.parametrize(("now_ms", "is_over"), ((1_500, False), (1_501, True)))
def test_transaction_times_out_after_its_timeout(now_ms: int, *, is_over: bool) -> None:
    found = timed_out(registry_of(ONGOING), now_ms=now_ms)

    assert is_timed_out(ONGOING, now_ms) is is_over
    assert found == MaintenancePass([ONGOING] if is_over else [], has_more=False)


@pytest.mark.parametrize("state", set(TransactionState) - {TransactionState.ONGOING})
def test_only_ongoing_transactions_time_out(state: TransactionState) -> None:
    assert not is_timed_out(ONGOING._replace(state=state), NOW)


def test_pending_transaction_does_not_time_out() -> None:
    registry = registry_of(ONGOING)
    registry.begin([ONGOING])

    assert timed_out(registry, now_ms=NOW).transactions == []


@pytest.mark.parametrize(
    "state",
    (TransactionState.EMPTY, TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT),
)
def test_idle_id_expires(state: TransactionState) -> None:
    old = OLD._replace(state=state)

    assert expired(registry_of(old), SETTINGS, now_ms=NOW).transactions == [old]


@pytest.mark.parametrize(
    "state",
    (TransactionState.ONGOING, TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT),
)
def test_id_with_a_transaction_never_expires(state: TransactionState) -> None:
    assert expired(registry_of(OLD._replace(state=state)), SETTINGS, now_ms=NOW).transactions == []


def test_id_that_was_used_does_not_expire() -> None:
    used = OLD._replace(last_update_ms=NOW - 4_999)

    assert expired(registry_of(used), SETTINGS, now_ms=NOW).transactions == []


def test_pending_id_does_not_expire() -> None:
    registry = registry_of(OLD)
    registry.begin([ONGOING])

    assert expired(registry, SETTINGS, now_ms=NOW).transactions == []


def test_pass_is_limited_by_the_size_of_its_records() -> None:
    long = "x" * 30_000
    olds = [OLD._replace(transactional_id=f"{long}{each}") for each in range(5)]
    registry = registry_of(*olds)

    found = expired(registry, SETTINGS, now_ms=NOW)

    assert found == MaintenancePass(olds[:2], has_more=True)
    assert PASS_BYTES < 3 * 30_000 * 3


def test_pass_has_one_transaction_of_any_size() -> None:
    huge = OLD._replace(transactional_id="x" * PASS_BYTES)

    assert expired(registry_of(huge), SETTINGS, now_ms=NOW).transactions == [huge]

"""Choice of transactions that have timed out, and of transactional ids that have expired.

Kafka: `TransactionStateManager.timedOutTransactions`, `removeExpiredTransactionalIds`. The records
of one pass are one batch, so a pass is limited; the next one follows at once if there are more.
"""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final, NamedTuple

from cordwood.coordination.transactions.transaction_metadata import TransactionMetadata
from cordwood.coordination.transactions.transaction_registry import TransactionRegistry
from cordwood.coordination.transactions.transaction_settings import TransactionSettings
from cordwood.coordination.transactions.transaction_state import TransactionState

#: Estimated bytes of the records of one pass; a batch of the topic may have 1 MB.
PASS_BYTES: Final = 256 * 1_024
_RECORD_BYTES: Final = 128
_BYTES_PER_CHARACTER: Final = 3


class MaintenancePass(NamedTuple):
    """The ids of one pass; with `has_more` another pass follows at once."""

    transactions: list[TransactionMetadata]
    has_more: bool


def timed_out(registry: TransactionRegistry, *, now_ms: int) -> MaintenancePass:
    """Return the ongoing transactions whose timeout is over."""
    return _limited(
        each
        for each in registry.ongoing()
        if is_timed_out(each, now_ms) and not registry.is_pending(each.transactional_id)
    )


def is_timed_out(metadata: TransactionMetadata, now_ms: int) -> bool:
    """Return whether a transaction is ongoing, and its timeout is over."""
    return (
        metadata.state is TransactionState.ONGOING
        and metadata.start_ms + metadata.timeout_ms < now_ms
    )


def expired(
    registry: TransactionRegistry, settings: TransactionSettings, *, now_ms: int
) -> MaintenancePass:
    """Return the ids without a transaction that were not used for the time of expiration.

    The ids are in the order of their last records, so that most of them are not visited.
    """
    latest_ms = now_ms - settings.id_expiration_ms
    return _limited(
        each
        for each in takewhile(lambda each: each.last_update_ms <= latest_ms, registry)
        if each.state.is_idle and not registry.is_pending(each.transactional_id)
    )


def _limited(transactions: Iterable[TransactionMetadata]) -> MaintenancePass:
    chosen = list[TransactionMetadata]()
    size = 0
    for each in transactions:
        size += _record_bytes(each)
        if chosen and size > PASS_BYTES:
            return MaintenancePass(chosen, has_more=True)
        chosen.append(each)
    return MaintenancePass(chosen, has_more=False)


def _record_bytes(metadata: TransactionMetadata) -> int:
    """Return an upper estimate of the bytes of the next record."""
    texts = len(metadata.transactional_id) + sum(len(each.topic) for each in metadata.partitions)
    return _RECORD_BYTES + _BYTES_PER_CHARACTER * texts + 8 * len(metadata.partitions)

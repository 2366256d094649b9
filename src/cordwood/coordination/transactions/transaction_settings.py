"""Settings of the transaction coordinator (Kafka: `TransactionConfig`)."""

from dataclasses import dataclass

from cordwood.coordination.transactions.transaction_version import EPOCH_BUMP


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionSettings:
    """Broker settings of transactions; the defaults are those of Kafka 4.3."""

    max_timeout_ms: int = 900_000
    abort_timed_out_interval_ms: int = 10_000
    id_expiration_ms: int = 604_800_000
    remove_expired_interval_ms: int = 3_600_000
    #: The finalized level of the feature `transaction.version`.
    transaction_version: int = EPOCH_BUMP

"""Levels of the feature `transaction.version` (Kafka: `TransactionVersion`).

    0  original
    1  flexible records of `__transaction_state`
    2  each end of a transaction raises the producer's epoch; leaders add partitions by themselves

The version of a request decides its rules. The finalized level of the cluster decides those of
transactions that a broker ends, and the version of the records.
"""

from typing import Final

EPOCH_BUMP: Final = 2
_FLEXIBLE_RECORDS: Final = 1
_END_TXN_WITH_BUMP: Final = 5
_ADD_PARTITIONS_BY_BROKERS: Final = 4


def supports_epoch_bump(level: int) -> bool:
    """Return whether a transaction of this level ends with a higher epoch."""
    return level >= EPOCH_BUMP


def record_version(level: int) -> int:
    """Return the version of records in a cluster of this level."""
    return 1 if level >= _FLEXIBLE_RECORDS else 0


def end_txn_level(api_version: int) -> int:
    """Return the level whose rules an EndTxn request follows."""
    return EPOCH_BUMP if api_version >= _END_TXN_WITH_BUMP else 0


def add_partitions_level(api_version: int) -> int:
    """Return the level whose rules an AddPartitionsToTxn request follows."""
    return EPOCH_BUMP if api_version >= _ADD_PARTITIONS_BY_BROKERS else 0

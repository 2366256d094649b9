"""States of a transactional id (Kafka: `TransactionState`).

    Empty ──────► Ongoing ──────► PrepareCommit ──► CompleteCommit ──► Ongoing, Empty, Dead
      ▲  │           │  │
      │  │           │  └───────► PrepareAbort ───► CompleteAbort ───► Ongoing, Empty, Dead
      │  └► Dead     └► PrepareEpochFence ──┘ ▲
      └─ InitProducerId                       └─ Empty, Complete*: an abort of transactions v2

PrepareEpochFence exists in memory only: a broker that ends a transaction itself fences its producer
on the way. Dead exists in memory only too: the record of an expired id is a tombstone.
"""

from collections.abc import Mapping
from enum import IntEnum
from types import MappingProxyType
from typing import Final


class TransactionState(IntEnum):
    """A state; the value is the one in records."""

    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def kafka_name(self) -> str:
        """The name in responses, such as `PrepareCommit`."""
        return self.name.title().replace("_", "")

    @property
    def is_prepared(self) -> bool:
        """Whether the end of the transaction is decided and its markers are being written."""
        return self in _PREPARED

    @property
    def is_idle(self) -> bool:
        """Whether the id has no transaction; it may expire."""
        return self in _IDLE

    def may_follow(self, previous: "TransactionState") -> bool:
        """Return whether a transition from the previous state is legal."""
        return previous in VALID_PREVIOUS_STATES[self]


_PREPARED: Final = frozenset({TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT})
_COMPLETE: Final = frozenset({TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT})
_IDLE: Final = _COMPLETE | {TransactionState.EMPTY}

VALID_PREVIOUS_STATES: Final[Mapping[TransactionState, frozenset[TransactionState]]] = (
    MappingProxyType(
        {
            TransactionState.EMPTY: _IDLE,
            TransactionState.ONGOING: _IDLE | {TransactionState.ONGOING},
            TransactionState.PREPARE_COMMIT: frozenset({TransactionState.ONGOING}),
            TransactionState.PREPARE_ABORT: _IDLE
            | {TransactionState.ONGOING, TransactionState.PREPARE_EPOCH_FENCE},
            TransactionState.COMPLETE_COMMIT: frozenset({TransactionState.PREPARE_COMMIT}),
            TransactionState.COMPLETE_ABORT: frozenset({TransactionState.PREPARE_ABORT}),
            TransactionState.DEAD: _IDLE,
            TransactionState.PREPARE_EPOCH_FENCE: frozenset({TransactionState.ONGOING}),
        }
    )
)

STATES_BY_NAME: Final[Mapping[str, TransactionState]] = MappingProxyType(
    {each.kafka_name: each for each in TransactionState}
)

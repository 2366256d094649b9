"""States of a transactional producer (Java: `TransactionManager`).

    uninitialized ─ init ─► ready ─ begin ─► in transaction ─ commit, abort ─► ending ─► ready
          ▲                                        │  ▲ error                    │
          └────── init ─ detached ◄─ detach ───────┤  └► abortable ─ abort ──────┤
                                                   └──────► fatal (final) ◄──────┘

Decisions only: the caller sends the requests. With transaction version 2 (KIP-890) brokers add
partitions by themselves, and each end gives the next epoch. Before, the producer adds partitions
and offsets first, and an abort after an error asks for a new epoch.
"""

import enum
from collections.abc import Iterable
from typing import Final

from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    KafkaError,
    ProducerFencedError,
    TransactionAbortableError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)
from cordwood.core.types import TopicPartition

#: The version of the protocol from which on brokers add partitions and bump epochs.
IMPLICIT: Final = 2
_FATAL: Final = (
    ClusterAuthorizationFailedError,
    InvalidProducerIdMappingError,
    ProducerFencedError,
    TransactionalIdAuthorizationFailedError,
    UnsupportedVersionError,
)


class ProducerState(enum.Enum):
    """State of the producer."""

    UNINITIALIZED = "uninitialized"
    READY = "ready"
    IN_TRANSACTION = "in transaction"
    ABORTABLE = "abortable error"
    COMMITTING = "committing"
    ABORTING = "aborting"
    FATAL = "fatal error"
    DETACHED = "detached"


_REMEDIES: Final = {
    ProducerState.UNINITIALIZED: "call `begin` first",
    ProducerState.READY: "call `begin` first",
    ProducerState.IN_TRANSACTION: "commit or abort the open transaction first",
    ProducerState.ABORTABLE: "call `abort`, then begin again",
    ProducerState.COMMITTING: "call `commit` again until it succeeds",
    ProducerState.ABORTING: "call `abort` again until it succeeds",
    ProducerState.FATAL: "close this producer and create another one",
    ProducerState.DETACHED: "end it with `Admin.end_transaction`, then call `init`",
}


class TransactionManager:
    """State of one transactional producer."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.state = ProducerState.UNINITIALIZED
        self.identity: ProducerIdentity | None = None
        self.version = 0
        self.error: KafkaError | None = None
        self._wanted: set[TopicPartition] = set()
        self._added: set[TopicPartition] = set()
        self._is_begun = False
        self._is_confirmed = False
        #: Whether the coordinator has ended the transaction; the next epoch may still be due.
        self.is_ended = False
        self._is_bump_due = False

    @property
    def is_implicit(self) -> bool:
        """Whether brokers add the partitions, and an end gives the next epoch."""
        return self.version >= IMPLICIT

    @property
    def is_end_due(self) -> bool:
        """Whether the coordinator may know the transaction, so that it has to be ended."""
        return self._is_begun

    @property
    def is_confirmed(self) -> bool:
        """Whether the coordinator certainly knows the transaction, unless it has ended it.

        An addition without an answer may have been applied, or not. Brokers that add partitions
        by themselves take the abort of a transaction that they do not know.
        """
        return self._is_confirmed or self.is_implicit

    @property
    def is_bump_due(self) -> bool:
        """Whether a new epoch has to be requested before the next transaction."""
        return self._is_bump_due and not self.is_implicit

    @property
    def is_sending(self) -> bool:
        """Whether batches may be sent."""
        return self.state in {ProducerState.IN_TRANSACTION, ProducerState.COMMITTING}

    def take_up(self) -> None:
        """Let a detached producer be initialized again; it fences as a new one does."""
        if self.state is ProducerState.DETACHED:
            self.state, self.identity = ProducerState.UNINITIALIZED, None

    def initialize(self, identity: ProducerIdentity, version: int) -> None:
        """Adopt the identity of InitProducerId, and the cluster's transaction version."""
        self.identity, self.version = identity, version
        self._finish()

    def begin(self) -> None:
        """Begin a transaction; the coordinator learns of it with the first partition."""
        self._require(ProducerState.READY)
        self.state = ProducerState.IN_TRANSACTION

    def ensure_open(self) -> None:
        """Raise InvalidTxnStateError, or the error of the transaction, unless one is open."""
        self._require(ProducerState.IN_TRANSACTION)

    def use(self, partition: TopicPartition) -> bool:
        """Take a partition into the transaction; return whether batches may be sent to it."""
        if self.is_implicit:
            self._is_begun = True
            return True
        self._wanted.add(partition)
        return partition in self._added

    def partitions_to_add(self) -> list[TopicPartition]:
        """Return the partitions that AddPartitionsToTxn has to add."""
        missing = sorted(self._wanted - self._added)
        self._is_begun |= bool(missing)
        return missing

    def partitions_added(self, partitions: Iterable[TopicPartition]) -> None:
        """Remember the partitions that the coordinator has added."""
        self._added.update(partitions)
        self._is_confirmed = True

    def offsets_added(self) -> None:
        """Remember that the coordinator has added the offsets of a group."""
        self._is_confirmed = True

    def use_offsets(self) -> None:
        """Take offsets of a group into the transaction."""
        self.ensure_open()
        self._is_begun = True

    def fail(self, error: KafkaError) -> None:
        """Adopt the error of a batch or a request: fatal, or to be followed by an abort."""
        if self.state in {ProducerState.FATAL, ProducerState.DETACHED}:
            return
        is_fatal = isinstance(error, _FATAL)
        if is_fatal:
            self.state, self.error = ProducerState.FATAL, error
        elif self.is_sending:
            self.state, self.error = ProducerState.ABORTABLE, error
            self.require_bump()

    def require_bump(self) -> None:
        """Let the next transaction have another epoch: a sequence of this one may be missing."""
        self._is_bump_due = True

    def fail_for_good(self, error: KafkaError) -> None:
        """Adopt an error after which the producer cannot be used."""
        self.state, self.error = ProducerState.FATAL, error

    def prepare_commit(self) -> None:
        """Begin or repeat a commit."""
        if self.state is not ProducerState.COMMITTING:
            self._require(ProducerState.IN_TRANSACTION)
        self.state = ProducerState.COMMITTING

    def prepare_abort(self) -> None:
        """Begin or repeat an abort, which is allowed after an error."""
        if self.state not in {ProducerState.ABORTING, ProducerState.ABORTABLE}:
            self._require(ProducerState.IN_TRANSACTION)
        self.state = ProducerState.ABORTING

    def end(self, identity: ProducerIdentity | None) -> bool:
        """Finish a commit or an abort; return whether sequences begin at 0 again.

        `identity` is that of the next transaction, None if it stays.
        """
        is_new = identity is not None and identity != self.identity
        self.identity = identity or self.identity
        self._finish()
        return is_new

    def detach(self) -> TransactionHandle:
        """Leave the open transaction to another process."""
        self._require(ProducerState.IN_TRANSACTION)
        if not self._is_begun:
            raise InvalidTxnStateError(
                f"{self._shown}: nothing was sent, so there is no transaction to detach;"
                " send a record first, or abort"
            )
        assert self.identity is not None, "a transaction has begun"
        self.state = ProducerState.DETACHED
        return TransactionHandle(self.transactional_id, *self.identity[:2], self.version)

    def _finish(self) -> None:
        self.state, self.error = ProducerState.READY, None
        self._wanted, self._added = set(), set()
        self._is_begun = self._is_confirmed = self.is_ended = self._is_bump_due = False

    def _require(self, state: ProducerState) -> None:
        if self.state is state:
            return
        remedy = _REMEDIES[self.state]
        reason = f" ({self.error})" if self.error is not None else ""
        kind = InvalidTxnStateError if self.error is None else type(self.error)
        if self.error is not None and self.error.retriable:
            kind = TransactionAbortableError  # a repeated call has the same result
        raise kind(
            f"{self._shown}: the producer is in state {self.state.value!r}{reason}; {remedy}"
        )

    @property
    def _shown(self) -> str:
        return f"transactional id {self.transactional_id!r}"

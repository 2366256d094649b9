"""Transactional producer of a simulation, with the decisions of our own client.

The states are those of `TransactionManager`. Requests are retried as the client does it: an end
until it is decided, everything else for a time.
"""

from collections.abc import Callable, Mapping
from typing import Final

from cordwood.client.group_offset import GroupMetadata, GroupOffset
from cordwood.client.producer.partition_queue import ProducerIdentity
from cordwood.client.producer.transaction_manager import ProducerState, TransactionManager
from cordwood.client.producer.transaction_requests import (
    add_partitions_errors,
    add_partitions_request,
    coordinator_error,
    offset_commit_errors,
    offset_commit_request,
)
from cordwood.core.errors import (
    ConcurrentTransactionsError,
    DuplicateSequenceNumberError,
    InvalidTxnStateError,
    KafkaError,
    RequestTimedOutError,
    TransactionAbortableError,
    error_for_code,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from cordwood.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnResponse
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.txn_offset_commit import TxnOffsetCommitResponse
from cordwood.protocol.schema import Request
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.simulation.client_process import ClientProcess, error_code, response_of
from tests.simulation.network import Answered, Channel, OnAnswered, OnServed
from tests.simulation.offset_ledger import OffsetLedger
from tests.simulation.simulated_broker import ProduceBatch
from tests.simulation.transaction_ledger import Outcome, Transaction, TransactionLedger

TRANSACTION_TIMEOUT_MS: Final = 3_000
_LONGEST_RETRY_MS: Final = 4_000.0
_BACKOFF_MS: Final = 60.0
#: Versions of Produce, TxnOffsetCommit and EndTxn by the version of transactions.
_VERSIONS: Final[Mapping[int, tuple[int, int, int]]] = {1: (11, 4, 4), 2: (12, 5, 5)}


class TransactionalClient:
    """The producer of one process."""

    def __init__(
        self,
        process: ClientProcess,
        transactional_id: str,
        version: int,
        *,
        ledger: TransactionLedger,
        offset_ledger: OffsetLedger,
    ) -> None:
        self.manager = TransactionManager(transactional_id)
        self._process = process
        self._version = version
        self._produce, self._commit, self._end_version = _VERSIONS[version]
        self._ledger = ledger
        self._offset_ledger = offset_ledger
        # With transactions v1 an end, or a batch, that overtakes the next transaction would be part
        # of it: the protocol relies on connections that keep the order.
        is_ordered = version == 1
        self._channel = Channel(process.name, is_ordered=is_ordered)
        self._sequences = dict[TopicPartition, int]()
        self._transaction: Transaction | None = None

    @property
    def is_fatal(self) -> bool:
        """Whether the producer has to be replaced."""
        return self.manager.state is ProducerState.FATAL

    async def initialize(self) -> None:
        """Get an identity, which fences all others with the id; retried until it is there."""
        await self._request_identity(_LONGEST_RETRY_MS * 100)

    async def transact(
        self,
        contents: Mapping[TopicPartition, list[str]],
        *,
        offsets: Mapping[TopicPartition, int],
        group: GroupMetadata | None,
        is_commit: bool,
    ) -> bool:
        """Run a transaction; return whether it is committed."""
        manager = self.manager
        manager.begin()
        transaction = self._transaction = self._ledger.begin(self._process.name)
        try:
            await self._send(transaction, contents)
            if group is not None and offsets:
                manager.use_offsets()
                await self._send_offsets(transaction, offsets, group)
            if is_commit:
                await self._end(transaction, is_commit=True)
                return True
        except KafkaError as error:
            self._process.note("transaction {}: {!r}", transaction.number, error)
            manager.fail(error)
        await self._abort(transaction)
        return False

    # -- steps

    async def _send(
        self, transaction: Transaction, contents: Mapping[TopicPartition, list[str]]
    ) -> None:
        manager = self.manager
        for partition in contents:
            manager.use(partition)
        if not manager.is_implicit and (missing := manager.partitions_to_add()):
            request = add_partitions_request(
                manager.transactional_id, self._identity, partitions=missing
            )
            await self._retried(request, 3, _added_code)
            manager.partitions_added(missing)
        for partition, texts in contents.items():
            await self._send_batch(transaction, partition, texts)

    async def _send_batch(
        self, transaction: Transaction, partition: TopicPartition, contents: list[str]
    ) -> None:
        sequence = self._sequences.get(partition, 0)
        fields = BatchFields(
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        builder = BatchBuilder(fields)
        for content in contents:
            text = transaction.text(partition, content)
            builder.append(None, text.encode(), timestamp=self._process.world.clock.now_ms())
        self._sequences[partition] = sequence + len(contents)
        request = ProduceBatch(self.manager.transactional_id, partition, bytes(builder.build()))
        await self._retried(request, self._produce, _produce_code)

    async def _send_offsets(
        self, transaction: Transaction, offsets: Mapping[TopicPartition, int], group: GroupMetadata
    ) -> None:
        manager = self.manager
        if not manager.is_implicit:
            added = AddOffsetsToTxnRequest(
                transactional_id=manager.transactional_id,
                producer_id=self._identity.producer_id,
                producer_epoch=self._identity.epoch,
                group_id=group.group_id,
            )
            await self._retried(added, 3, _whole_code)
        request = offset_commit_request(
            manager.transactional_id,
            self._identity,
            group=group,
            offsets={each: GroupOffset(offset) for each, offset in offsets.items()},
        )

        def served() -> OnAnswered:
            answer = self._offset_ledger.deliver(self._process.name, offsets, transaction)
            return lambda answered: _note_commit(answer, offsets, answered)

        await self._retried(request, self._commit, _commit_code, on_served=served)

    async def _end(self, transaction: Transaction, *, is_commit: bool) -> None:
        """End the transaction; retried until the coordinator has decided."""
        manager = self.manager
        (manager.prepare_commit if is_commit else manager.prepare_abort)()
        transaction.outcome = Outcome.COMMIT_ASKED if is_commit else Outcome.ABORT_ASKED
        identity = None
        if manager.is_end_due:
            identity = await self._request_end(transaction, is_commit=is_commit)
        transaction.outcome = Outcome.COMMITTED if is_commit else Outcome.ABORTED
        if is_commit:
            self._process.world.count("transactions committed")
        else:
            self._process.world.count("transactions aborted by clients")
        if manager.is_bump_due:
            await self._request_identity(_LONGEST_RETRY_MS * 100)
        elif manager.end(identity):
            self._sequences.clear()

    async def _request_end(
        self, transaction: Transaction, *, is_commit: bool
    ) -> ProducerIdentity | None:
        manager, ledger = self.manager, self._ledger
        request = EndTxnRequest(
            transactional_id=manager.transactional_id,
            producer_id=self._identity.producer_id,
            producer_epoch=self._identity.epoch,
            committed=is_commit,
        )
        name = self._process.name
        was_latest = ledger.is_latest(manager.transactional_id, name)
        try:
            answered = await self._retried(
                request,
                self._end_version,
                _whole_code,
                longest_ms=_LONGEST_RETRY_MS * 100,
                on_served=lambda: lambda given: self._note_given(given, is_repeatable=True),
            )
        except TransactionAbortableError as error:
            if is_commit:
                transaction.outcome = Outcome.ABORT_ASKED
                manager.fail(error)
            else:
                manager.fail_for_good(error)
            raise
        except InvalidTxnStateError as error:
            manager.fail_for_good(error)
            raise
        response = response_of(answered, EndTxnResponse)
        ledger.ended(transaction, manager.transactional_id, was_latest=was_latest)
        if response.producer_id < 0:
            return None
        return ProducerIdentity(response.producer_id, response.producer_epoch)

    async def _abort(self, transaction: Transaction) -> None:
        """Abort; a producer that is fenced cannot."""
        if self.is_fatal:
            self._process.world.count("producers fenced")
            return
        try:
            await self._end(transaction, is_commit=False)
        except KafkaError as error:
            self._process.note("transaction {} cannot be aborted: {!r}", transaction.number, error)
            self.manager.fail_for_good(error)
            self._process.world.count("producers fenced")

    async def _request_identity(self, longest_ms: float) -> None:
        manager, mine = self.manager, self.manager.identity or ProducerIdentity(-1, -1)
        request = InitProducerIdRequest(
            transactional_id=manager.transactional_id,
            transaction_timeout_ms=TRANSACTION_TIMEOUT_MS,
            producer_id=mine.producer_id,
            producer_epoch=mine.epoch,
        )
        answered = await self._retried(
            request,
            5,
            _whole_code,
            longest_ms=longest_ms,
            on_served=lambda: lambda given: self._note_given(given, is_repeatable=mine.epoch >= 0),
        )
        response = response_of(answered, InitProducerIdResponse)
        identity = ProducerIdentity(response.producer_id, response.producer_epoch)
        self._process.note("has {}", identity)
        self._ledger.initialize(manager.transactional_id, self._process.name, identity)
        manager.initialize(identity, self._version)
        self._sequences.clear()

    def _note_given(self, answered: Answered | None, *, is_repeatable: bool) -> None:
        """Note an identity that the broker gives; a repeated request may get the same one."""
        if isinstance(answered, (InitProducerIdResponse, EndTxnResponse)) and (
            answered.error_code == 0 and answered.producer_id >= 0
        ):
            identity = ProducerIdentity(answered.producer_id, answered.producer_epoch)
            self._ledger.give(self.manager.transactional_id, identity, is_new=not is_repeatable)

    # -- requests

    @property
    def _identity(self) -> ProducerIdentity:
        assert self.manager.identity is not None, "the producer is initialized"
        return self.manager.identity

    async def _retried(
        self,
        request: Request | ProduceBatch,
        version: int,
        code_of: Callable[[Answered], int],
        *,
        longest_ms: float = _LONGEST_RETRY_MS,
        on_served: OnServed | None = None,
    ) -> Answered:
        """Send a request until it succeeds; raise an error that does not pass, or a timeout."""
        process = self._process
        deadline_ms = process.world.now_ms + longest_ms
        while True:
            answered = await process.call(self._channel, request, version, on_served=on_served)
            code = code_of(answered)
            if not code:
                return answered
            if isinstance(request, ProduceBatch):
                error = error_for_code(code)("a batch is rejected")
            else:
                error = coordinator_error(code, self.manager.transactional_id)
            if not error.retriable and not isinstance(error, ConcurrentTransactionsError):
                raise error
            if process.world.now_ms > deadline_ms:
                raise RequestTimedOutError(f"the last error is {error!r}")
            await process.sleep(_BACKOFF_MS)


def _produce_code(answered: Answered) -> int:
    code = error_code(answered)
    return 0 if code == DuplicateSequenceNumberError.code else code


def _whole_code(answered: Answered) -> int:
    return error_code(answered)


def _added_code(answered: Answered) -> int:
    if not isinstance(answered, AddPartitionsToTxnResponse):
        return error_code(answered)
    return max(code for _, code in add_partitions_errors(answered))


def _commit_code(answered: Answered) -> int:
    if not isinstance(answered, TxnOffsetCommitResponse):
        return error_code(answered)
    return max(code for _, code in offset_commit_errors(answered))


def _note_commit(
    answer: Callable[[TopicPartition, bool | None], None],
    offsets: Mapping[TopicPartition, int],
    answered: Answered | None,
) -> None:
    """Note the results of a commit; one with an error of the whole may be written."""
    is_known = isinstance(answered, TxnOffsetCommitResponse)
    code = _commit_code(answered) if answered is not None else 0
    for partition in offsets:
        answer(partition, code == 0 if is_known else None)

"""Verification of transactions before their first append to a partition.

Kafka: `AddPartitionsToTxnManager`, `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`.

    Produce up to 11, TxnOffsetCommit up to 4     the coordinator confirms the partition
    Produce from 12, TxnOffsetCommit from 5       the coordinator adds it (transactions v2)

A partition in which the transaction of the producer is open needs neither. CONCURRENT_TRANSACTIONS
of a Produce request is retried for a short time: the markers of the last transaction are on their
way. Kafka holds at most one such request per transactional id; here each is handled at once.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final, NamedTuple, TypeAlias

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.broker.coordinators.topic_coordinator import TopicCoordinator
from cordwood.broker.partitions.partition import Partition
from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.runtime.runtime_ports import RuntimePorts
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.core.errors import (
    ClusterAuthorizationFailedError,
    ConcurrentTransactionsError,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    InvalidProducerEpochError,
    InvalidProducerIdMappingError,
    InvalidTxnStateError,
    KafkaError,
    NetworkError,
    NotCoordinatorError,
    NotEnoughReplicasError,
    ProducerFencedError,
    TransactionAbortableError,
    error_for_code,
)
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.producers.verification_guard import VerificationGuard

Verified: TypeAlias = VerificationGuard | KafkaError | None
"""The guard for the append, the error instead of it, or None if the append needs no guard."""

#: The first versions that add their partitions to the transaction.
FIRST_PRODUCE_THAT_ADDS: Final = 12
FIRST_COMMIT_THAT_ADDS: Final = 5
#: The first version of Produce whose clients know TRANSACTION_ABORTABLE.
_FIRST_ABORTABLE_PRODUCE: Final = 11
_FIRST_ABORTABLE_COMMIT: Final = 4
#: The version of AddPartitionsToTxn between brokers.
_BETWEEN_BROKERS: Final = ClientContext(5)

_PRODUCE_ERRORS: Final = MappingProxyType(
    {
        ProducerFencedError.code: InvalidProducerEpochError,
        ClusterAuthorizationFailedError.code: InvalidTxnStateError,
        NetworkError.code: NotEnoughReplicasError,
        CoordinatorLoadInProgressError.code: NotEnoughReplicasError,
        CoordinatorNotAvailableError.code: NotEnoughReplicasError,
        NotCoordinatorError.code: NotEnoughReplicasError,
    }
)


class ProducerTransaction(NamedTuple):
    """The transaction of a producer."""

    transactional_id: str
    producer: TransactionalProducer


class TransactionalBatch(NamedTuple):
    """A batch of a transaction, and the partition that it is for."""

    partition: Partition
    header: BatchHeader


class TransactionVerifier:
    """Verifies the transactions of appends on this broker."""

    def __init__(
        self,
        transactions: TopicCoordinator[TransactionShard],
        configs: BrokerConfigs,
        ports: RuntimePorts,
    ) -> None:
        self._transactions = transactions
        self._configs = configs
        self._ports = ports

    # -- Produce

    async def verify_batches(
        self, transactional_id: str, batches: Sequence[TransactionalBatch], *, api_version: int
    ) -> list[Verified]:
        """Return the guard or the error for each batch of a Produce request.

        Raises InvalidProducerIdMappingError for batches of several producers.
        """
        if len({each.header.producer_id for each in batches}) > 1:
            raise InvalidProducerIdMappingError("the request has batches of several producers")
        adds = api_version >= FIRST_PRODUCE_THAT_ADDS
        if not adds and not self._is_enabled:
            return [None] * len(batches)
        verified = [self._start(each, supports_epoch_bump=adds) for each in batches]
        wanted = {
            each.partition.name: each.header
            for each, guard in zip(batches, verified, strict=True)
            if isinstance(guard, VerificationGuard)
        }
        if not wanted:
            return verified
        header = next(iter(wanted.values()))
        producer = TransactionalProducer(header.producer_id, header.producer_epoch)
        transaction = ProducerTransaction(transactional_id, producer)
        errors = await self._ask_with_retries(transaction, wanted, adds=adds)
        return [
            _produce_error(errors[each.partition.name], api_version)
            if each.partition.name in errors
            else guard
            for each, guard in zip(batches, verified, strict=True)
        ]

    def _start(self, batch: TransactionalBatch, *, supports_epoch_bump: bool) -> Verified:
        header = batch.header
        try:
            return batch.partition.led_log.producers.start_verification(
                header.producer_id,
                sequence=header.base_sequence,
                epoch=header.producer_epoch,
                now_ms=self._ports.clock.now_ms(),
                supports_epoch_bump=supports_epoch_bump,
            )
        except KafkaError as error:
            return error.with_traceback(None)

    async def _ask_with_retries(
        self,
        transaction: ProducerTransaction,
        partitions: Collection[TopicPartition],
        *,
        adds: bool,
    ) -> Mapping[TopicPartition, KafkaError]:
        clock = self._ports.network_clock
        backoff_ms = self._configs.integer("add.partitions.to.txn.retry.backoff.ms")
        longest_ms = self._configs.integer("add.partitions.to.txn.retry.backoff.max.ms")
        end_ms = clock.monotonic_ms() + longest_ms
        while True:
            errors = await self._ask(transaction, partitions, adds=adds)
            is_busy = any(isinstance(each, ConcurrentTransactionsError) for each in errors.values())
            if not is_busy or clock.monotonic_ms() >= end_ms:
                return errors
            await self._ports.pause(backoff_ms)

    # -- TxnOffsetCommit

    async def verify_offsets(
        self, transaction: ProducerTransaction, log: CoordinatorLog, *, api_version: int
    ) -> None:
        """Verify the partition of a group's offsets, and give its log the guard.

        Raises the error for the client of TxnOffsetCommit.
        """
        adds = api_version >= FIRST_COMMIT_THAT_ADDS
        if not adds and not self._is_enabled:
            return
        guard = log.start_verification(transaction.producer, supports_epoch_bump=adds)
        if guard is not None:
            name = log.name
            errors = await self._ask(transaction, [name], adds=adds)
            if name in errors:
                raise _commit_error(errors[name], api_version)
        log.guard = guard

    # -- the coordinator

    @property
    def _is_enabled(self) -> bool:
        return self._configs.boolean("transaction.partition.verification.enable")

    async def _ask(
        self, transaction: ProducerTransaction, partitions: Iterable[TopicPartition], *, adds: bool
    ) -> Mapping[TopicPartition, KafkaError]:
        """Add or confirm partitions; return the errors of those that are rejected."""
        names = [*partitions]
        request = AddPartitionsToTxnRequest(
            transactions=[
                AddPartitionsToTxnTransaction(
                    transactional_id=transaction.transactional_id,
                    producer_id=transaction.producer.producer_id,
                    producer_epoch=transaction.producer.producer_epoch,
                    verify_only=not adds,
                    topics=_by_topic(names),
                )
            ]
        )
        try:
            response = await self._transactions.call(
                transaction.transactional_id,
                lambda shard, ticket, now_ms: shard.add_partitions(
                    request, _BETWEEN_BROKERS, ticket=ticket, now_ms=now_ms
                ),
                answer=AddPartitionsToTxnResponse,
            )
        except KafkaError as error:
            return dict.fromkeys(names, error.with_traceback(None))
        return _errors_of(response, names)


def _by_topic(names: Iterable[TopicPartition]) -> list[AddPartitionsToTxnTopic]:
    topics = dict[str, list[int]]()
    for name in names:
        topics.setdefault(name.topic, []).append(name.partition)
    return [
        AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in topics.items()
    ]


def _errors_of(
    response: AddPartitionsToTxnResponse, names: Iterable[TopicPartition]
) -> Mapping[TopicPartition, KafkaError]:
    codes = {
        (topic.name, each.partition_index): each.partition_error_code
        for result in response.results_by_transaction
        for topic in result.topic_results
        for each in topic.results_by_partition
    }
    found = dict[TopicPartition, KafkaError]()
    for name in names:
        code = codes.get((name.topic, name.partition), response.error_code)
        if code:
            found[name] = error_for_code(code)(f"the transaction coordinator rejects {name}")
    return found


def _produce_error(error: KafkaError, api_version: int) -> KafkaError:
    """Return the error of a partition in a Produce response."""
    words = str(error)
    if isinstance(error, ConcurrentTransactionsError):
        is_known = api_version >= FIRST_PRODUCE_THAT_ADDS
        return error if is_known else NotEnoughReplicasError(words)
    if isinstance(error, TransactionAbortableError):
        return error if api_version >= _FIRST_ABORTABLE_PRODUCE else InvalidTxnStateError(words)
    kind = _PRODUCE_ERRORS.get(error.code)
    return error if kind is None else kind(words)


def _commit_error(error: KafkaError, api_version: int) -> KafkaError:
    """Return the error of a TxnOffsetCommit response, before the mapping of coordinators."""
    words = str(error)
    if isinstance(error, TransactionAbortableError):
        return error if api_version >= _FIRST_ABORTABLE_COMMIT else InvalidTxnStateError(words)
    kind = _PRODUCE_ERRORS.get(error.code)
    if kind is NotEnoughReplicasError:
        return error
    return error if kind is None else kind(words)

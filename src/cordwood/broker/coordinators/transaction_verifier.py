"""Verification of transactions before their first append to a partition.

Kafka: `AddPartitionsToTxnManager`, `ReplicaManager.maybeSendPartitionsToTransactionCoordinator`.

    Produce up to 11, TxnOffsetCommit up to 4     the coordinator confirms the partition
    Produce from 12, TxnOffsetCommit from 5       the coordinator adds it (transactions v2)

A partition in which the transaction of the producer is open needs neither. CONCURRENT_TRANSACTIONS
of a Produce request is retried for a short time: the markers of the last transaction are on their
way. The retry comes after a backoff, as in Kafka, or when the coordinator of this broker completes
the transaction.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from cordwood.broker.config.broker_configs import BrokerConfigs
from cordwood.broker.coordinators.add_partitions_to_txn_manager import AddPartitionsToTxnManager
from cordwood.broker.coordinators.coordinator_log import CoordinatorLog
from cordwood.broker.partitions.partition import Partition
from cordwood.coordination.outcome import TransactionalProducer
from cordwood.coordination.runtime.completion_waits import CompletionWaits
from cordwood.coordination.runtime.runtime_ports import RuntimePorts
from cordwood.coordination.transactions.verification_answers import (
    VerifiedOperation,
    is_retried,
    offset_commit_error,
    produce_error,
    verification_error,
)
from cordwood.core.errors import InvalidProducerIdMappingError, KafkaError
from cordwood.core.types import TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from cordwood.records.batch_header import BatchHeader
from cordwood.storage.producers.verification_guard import VerificationGuard

Verified: TypeAlias = VerificationGuard | KafkaError | None
"""The guard for the append, the error instead of it, or None if the append needs no guard."""


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
        coordinators: AddPartitionsToTxnManager,
        configs: BrokerConfigs,
        ports: RuntimePorts,
        *,
        completions: CompletionWaits,
    ) -> None:
        self._coordinators = coordinators
        self._configs = configs
        self._ports = ports
        self._completions = completions

    # -- Produce

    async def verify_batches(
        self, transactional_id: str, batches: Sequence[TransactionalBatch], *, api_version: int
    ) -> list[Verified]:
        """Return the guard or the error for each batch of a Produce request.

        Raises InvalidProducerIdMappingError for batches of several producers.
        """
        if len({each.header.producer_id for each in batches}) > 1:
            raise InvalidProducerIdMappingError("the request has batches of several producers")
        operation = VerifiedOperation.of_produce(api_version)
        if not operation.is_addition and not self._is_enabled:
            return [None] * len(batches)
        verified = [
            self._start(each, supports_epoch_bump=operation.is_addition) for each in batches
        ]
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
        errors = await self._ask_with_retries(transaction, wanted, operation)
        return [
            produce_error(errors[each.partition.name], operation)
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
        operation: VerifiedOperation,
    ) -> Mapping[TopicPartition, KafkaError]:
        clock = self._ports.network_clock
        backoff_ms = self._configs.integer("add.partitions.to.txn.retry.backoff.ms")
        longest_ms = self._configs.integer("add.partitions.to.txn.retry.backoff.max.ms")
        began_ms = clock.monotonic_ms()
        while True:
            errors = await self._ask(transaction, partitions, operation)
            waited_ms = clock.monotonic_ms() - began_ms
            if not any(
                is_retried(each, waited_ms=waited_ms, longest_ms=longest_ms)
                for each in errors.values()
            ):
                return errors
            await self._completions.wait(transaction.transactional_id, backoff_ms)

    # -- TxnOffsetCommit

    async def verify_offsets(
        self, transaction: ProducerTransaction, log: CoordinatorLog, *, api_version: int
    ) -> VerificationGuard | None:
        """Verify the partition of a group's offsets; return the guard of its append, if any.

        The event of the append gives it to the log. Raises the error for the client of
        TxnOffsetCommit.
        """
        operation = VerifiedOperation.of_offset_commit(api_version)
        if not operation.is_addition and not self._is_enabled:
            return None
        guard = log.start_verification(
            transaction.producer, supports_epoch_bump=operation.is_addition
        )
        if guard is not None:
            errors = await self._ask(transaction, [log.name], operation)
            if log.name in errors:
                raise offset_commit_error(errors[log.name])
        return guard

    # -- the coordinator

    @property
    def _is_enabled(self) -> bool:
        return self._configs.boolean("transaction.partition.verification.enable")

    async def _ask(
        self,
        transaction: ProducerTransaction,
        partitions: Iterable[TopicPartition],
        operation: VerifiedOperation,
    ) -> Mapping[TopicPartition, KafkaError]:
        """Add or confirm partitions; return the errors of those that are rejected."""
        names = [*partitions]
        wanted = AddPartitionsToTxnTransaction(
            transactional_id=transaction.transactional_id,
            producer_id=transaction.producer.producer_id,
            producer_epoch=transaction.producer.producer_epoch,
            verify_only=not operation.is_addition,
            topics=_by_topic(names),
        )
        try:
            found = await self._coordinators.add(wanted)
        except KafkaError as error:
            found = dict.fromkeys(names, error.with_traceback(None))
        return {
            name: rejected
            for name, error in found.items()
            if (rejected := verification_error(error, operation)) is not None
        }


def _by_topic(names: Iterable[TopicPartition]) -> list[AddPartitionsToTxnTopic]:
    topics: dict[str, list[int]] = {}
    for name in names:
        topics.setdefault(name.topic, []).append(name.partition)
    return [
        AddPartitionsToTxnTopic(name=topic, partitions=numbers) for topic, numbers in topics.items()
    ]

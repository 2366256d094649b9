"""A producer with transactions for tests, which sends its requests to the handlers of a broker."""

from cordwood.broker.handlers.group_offsets import txn_offset_commit
from cordwood.broker.handlers.produce import produce
from cordwood.broker.handlers.producers import init_producer_id
from cordwood.broker.handlers.transactions import (
    add_offsets_to_txn,
    add_partitions_to_txn,
    end_txn,
)
from cordwood.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest
from cordwood.protocol.messages.init_producer_id import InitProducerIdRequest
from cordwood.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from cordwood.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitRequestTopic,
)
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.unit.broker.broker_samples import BrokerHarness, turns


class TransactionalProducerOf:
    """The producer of a transactional id; `version` is that of Produce."""

    def __init__(self, harness: BrokerHarness, key: str | None = "t", *, version: int = 11) -> None:
        self.harness = harness
        self.key = key
        self.version = version
        self.id = -1
        self.epoch = -1
        #: The next sequence by partition.
        self.sequences = dict[int, int]()

    async def init(self) -> int:
        """Get an id and an epoch; return the error code."""
        request = InitProducerIdRequest(transactional_id=self.key, transaction_timeout_ms=60_000)
        answer = await init_producer_id(self.harness.broker, self.harness.context(5), request)
        self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        return answer.error_code

    async def add(self, partition: int = 0, topic: str = "orders", *, version: int = 3) -> int:
        """Add a partition to the transaction."""
        request = AddPartitionsToTxnRequest(
            transactional_id=self.key or "",
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
        )
        answer = await add_partitions_to_txn(
            self.harness.broker, self.harness.context(version), request
        )
        return answer.results_by_topic[0].results_by_partition[0].partition_error_code

    async def send(self, partition: int = 0, *, key: str | None = "same") -> int:
        """Produce a batch of one record into a partition of `orders`."""
        builder = BatchBuilder(
            BatchFields(
                producer_id=self.id,
                producer_epoch=self.epoch,
                base_sequence=self.sequences.get(partition, 0),
                is_transactional=True,
            )
        )
        builder.append(None, b"value", timestamp=self.harness.storage.clock.now_ms())
        data = PartitionProduceData(index=partition, records=memoryview(builder.build()))
        by_id = self.harness.metadata.image.topics["orders"].topic_id
        topic = (
            TopicProduceData(topic_id=by_id, partitions=[data])
            if self.version >= 13
            else TopicProduceData(name="orders", partitions=[data])
        )
        request = ProduceRequest(
            transactional_id=self.key if key == "same" else key,
            acks=-1,
            timeout_ms=1000,
            topics=[topic],
        )
        answer = await produce(self.harness.broker, self.harness.context(self.version), request)
        assert answer is not None
        code = answer.responses[0].partitions[0].error_code
        if code == 0:
            self.sequences[partition] = self.sequences.get(partition, 0) + 1
        return code

    async def add_offsets(self) -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.key or "",
            producer_id=self.id,
            producer_epoch=self.epoch,
            group_id="g",
        )
        answer = await add_offsets_to_txn(self.harness.broker, self.harness.context(4), request)
        return answer.error_code

    async def commit_offset(self, offset: int, *, version: int, metadata: str = "") -> int:
        """Commit an offset of the group `g` in the transaction."""
        partition = TxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=metadata
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.key or "",
            group_id="g",
            producer_id=self.id,
            producer_epoch=self.epoch,
            topics=[TxnOffsetCommitRequestTopic(name="orders", partitions=[partition])],
        )
        answer = await txn_offset_commit(
            self.harness.broker, self.harness.context(version), request
        )
        return answer.topics[0].partitions[0].error_code

    async def end(self, *, committed: bool = True, version: int = 4) -> int:
        """End the transaction and let its markers be written; return the error code."""
        request = EndTxnRequest(
            transactional_id=self.key or "",
            producer_id=self.id,
            producer_epoch=self.epoch,
            committed=committed,
        )
        answer = await end_txn(self.harness.broker, self.harness.context(version), request)
        if version >= 5 and answer.error_code == 0:
            self.id, self.epoch, self.sequences = answer.producer_id, answer.producer_epoch, {}
        await turns(20)
        return answer.error_code

    def bounds(self, partition: int = 0) -> tuple[int, int]:
        """Return the last stable offset and the log end of a partition of `orders`."""
        bounds = self.harness.broker.partitions.get("orders", partition).log.bounds
        return bounds.last_stable, bounds.log_end

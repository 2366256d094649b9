"""Tests of the runtime of transaction shards."""

import asyncio
from collections.abc import Mapping

from cordwood.coordination.client_context import ClientContext
from cordwood.coordination.ports import TransactionMarker
from cordwood.coordination.runtime.completion_waits import CompletionWaits
from cordwood.coordination.runtime.runtime_ports import ShardKind
from cordwood.coordination.runtime.transaction_runtime import TransactionRuntime
from cordwood.coordination.transactions.transaction_shard import TransactionShard
from cordwood.coordination.transactions.transaction_state import TransactionState
from cordwood.core.errors import (
    InvalidProducerEpochError,
    KafkaError,
    NotLeaderOrFollowerError,
    UnknownServerError,
)
from cordwood.core.types import PartitionId, TopicName, TopicPartition
from cordwood.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from cordwood.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from cordwood.protocol.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from cordwood.protocol.messages.internal import TRANSACTION_RECORDS
from tests.unit.broker.broker_samples import run, turns
from tests.unit.coordination.runtime.runtime_samples import MemoryLog, RuntimeHarness

FIRST = TopicPartition(TopicName("orders"), PartitionId(0))
SECOND = TopicPartition(TopicName("orders"), PartitionId(1))


class MarkerDesk:
    """A sender whose attempts fail for the partitions in `errors`."""

    def __init__(self) -> None:
        self.errors = dict[TopicPartition, KafkaError]()
        self.sent = list[TransactionMarker]()
        #: The moment at which the leaders respond, if that is not at once.
        self.responds: asyncio.Event | None = None
        self.is_withdrawn = False

    async def send(self, marker: TransactionMarker) -> Mapping[TopicPartition, KafkaError]:
        self.sent.append(marker)
        if self.responds is not None:
            try:
                await self.responds.wait()
            except asyncio.CancelledError:
                self.is_withdrawn = True
                raise
        return {each: self.errors[each] for each in marker.partitions if each in self.errors}


class TransactionHarness:
    """A transaction coordinator of one partition, with the producer of the id `t`."""

    def __init__(self, log: MemoryLog | None = None) -> None:
        self.base = RuntimeHarness()
        self.markers = MarkerDesk()
        self.log = log or MemoryLog(self.base.clock)
        self.ids = iter(range(100, 200))
        self.id_error: KafkaError | None = None
        self.shards = list[TransactionShard]()
        kind = ShardKind("__transaction_state", TRANSACTION_RECORDS, lambda _: self._make())
        self.completions = CompletionWaits(self.base.ports)
        self.runtime = TransactionRuntime(
            kind,
            self.base.ports,
            markers=self.markers,
            next_producer_id=self._next_id,
            completions=self.completions,
        )

    def _make(self) -> TransactionShard:
        self.shards.append(TransactionShard())
        return self.shards[-1]

    async def _next_id(self) -> int:
        if self.id_error is not None:
            raise self.id_error
        return next(self.ids)

    async def elect(self) -> None:
        self.runtime.elect(self.log)
        await turns(10)

    async def init(self) -> InitProducerIdResponse:
        request = InitProducerIdRequest(transactional_id="t", transaction_timeout_ms=60_000)
        return await self.runtime.call(
            0,
            lambda shard, ticket, now_ms: shard.init_producer_id(
                request, ClientContext(5), ticket=ticket, now_ms=now_ms
            ),
            answer=InitProducerIdResponse,
        )

    async def add(self, *partitions: TopicPartition) -> None:
        topic = AddPartitionsToTxnTopic(
            name="orders", partitions=[int(each.partition) for each in partitions]
        )
        request = AddPartitionsToTxnRequest(
            transactional_id="t",
            producer_id=100,
            producer_epoch=0,
            topics=[topic],
        )
        await self.runtime.call(
            0,
            lambda shard, ticket, now_ms: shard.add_partitions(
                request, ClientContext(3), ticket=ticket, now_ms=now_ms
            ),
            answer=AddPartitionsToTxnResponse,
        )

    async def commit(self) -> int:
        request = EndTxnRequest(
            transactional_id="t", producer_id=100, producer_epoch=0, committed=True
        )
        response = await self.runtime.call(
            0,
            lambda shard, ticket, now_ms: shard.end_transaction(
                request, ClientContext(4), ticket=ticket, now_ms=now_ms
            ),
            answer=EndTxnResponse,
        )
        return response.error_code

    @property
    def state(self) -> TransactionState:
        metadata = self.shards[-1].transactions.get("t")
        assert metadata is not None
        return metadata.state


def test_new_producer_gets_an_id_that_is_allocated_for_it() -> None:
    async def scene() -> tuple[int, int]:
        harness = TransactionHarness()
        await harness.elect()
        answer = await harness.init()
        return answer.producer_id, answer.producer_epoch

    assert run(scene()) == (100, 0)


def test_error_of_the_allocation_is_the_answer() -> None:
    async def scene() -> int:
        harness = TransactionHarness()
        harness.id_error = UnknownServerError("none left")
        await harness.elect()
        try:
            await harness.init()
        except KafkaError as error:
            return error.code
        return 0

    assert run(scene()) == UnknownServerError.code


def test_markers_are_written_after_the_answer_and_the_transaction_is_completed() -> None:
    async def scene() -> tuple[int, list[TransactionMarker], TransactionState]:
        harness = TransactionHarness()
        await harness.elect()
        await harness.init()
        await harness.add(FIRST, SECOND)
        code = await harness.commit()
        await turns(10)
        return code, harness.markers.sent, harness.state

    code, sent, state = run(scene())

    assert (code, state) == (0, TransactionState.COMPLETE_COMMIT)
    assert [each.partitions for each in sent] == [{FIRST, SECOND}]


def test_no_marker_is_written_before_the_prepare_record_counts() -> None:
    async def scene() -> tuple[int, int]:
        harness = TransactionHarness()
        await harness.elect()
        await harness.init()
        await harness.add(FIRST)
        harness.log.holds = True
        task = asyncio.ensure_future(harness.commit())
        await turns(10)
        before = len(harness.markers.sent)
        harness.log.count(harness.log.end - 1)
        await turns(10)
        await task
        return before, len(harness.markers.sent)

    assert run(scene()) == (0, 1)


def test_markers_are_retried_with_a_growing_backoff_for_the_partitions_without_one() -> None:
    async def scene() -> tuple[list[int], TransactionState]:
        harness = TransactionHarness()
        harness.markers.errors[SECOND] = NotLeaderOrFollowerError("moved")
        await harness.elect()
        await harness.init()
        await harness.add(FIRST, SECOND)
        await harness.commit()
        await turns(10)
        counts = list[int]()
        for passed_ms in (19, 1, 39, 1):
            counts.append(len(harness.markers.sent))
            harness.base.network_clock.advance(ms=passed_ms)
            await turns(10)
        harness.markers.errors.clear()
        harness.base.network_clock.advance(ms=80)
        await turns(10)
        counts.append(len(harness.markers.sent))
        assert harness.markers.sent[-1].partitions == {SECOND}
        return counts, harness.state

    assert run(scene()) == ([1, 1, 2, 2, 4], TransactionState.COMPLETE_COMMIT)


def test_fenced_markers_are_given_up() -> None:
    async def scene() -> tuple[int, TransactionState]:
        harness = TransactionHarness()
        harness.markers.errors[FIRST] = InvalidProducerEpochError("a later epoch")
        await harness.elect()
        await harness.init()
        await harness.add(FIRST)
        await harness.commit()
        harness.base.network_clock.advance(seconds=10)
        await turns(10)
        return len(harness.markers.sent), harness.state

    assert run(scene()) == (1, TransactionState.PREPARE_COMMIT)


def test_markers_on_their_way_are_withdrawn_when_the_leadership_ends() -> None:
    async def scene() -> tuple[bool, bool]:
        harness = TransactionHarness()
        harness.markers.responds = asyncio.Event()
        await harness.elect()
        await harness.init()
        await harness.add(FIRST)
        await harness.commit()
        await turns(10)
        before = harness.markers.is_withdrawn
        harness.runtime.resign(0)
        await turns(10)
        return before, harness.markers.is_withdrawn

    assert run(scene()) == (False, True)


def test_coordinator_that_is_loaded_resumes_the_markers() -> None:
    async def scene() -> tuple[int, TransactionState]:
        harness = TransactionHarness()
        harness.markers.errors[FIRST] = NotLeaderOrFollowerError("moved")
        await harness.elect()
        await harness.init()
        await harness.add(FIRST)
        await harness.commit()
        await harness.runtime.stop()
        again = TransactionHarness(harness.log)
        await again.elect()
        await turns(10)
        return len(again.markers.sent), again.state

    assert run(scene()) == (1, TransactionState.COMPLETE_COMMIT)

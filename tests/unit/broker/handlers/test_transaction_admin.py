"""Tests of the handlers of administrators of transactions."""

import pytest

from cordwood.broker.handlers import transaction_admin
from cordwood.broker.handlers.transaction_admin import (
    describe_transactions,
    list_transactions,
    write_txn_markers,
)
from cordwood.broker.loop_turns import TurnQueue
from cordwood.coordination.transactions import transaction_listing
from cordwood.coordination.transactions.transaction_listing import list_matching
from cordwood.protocol.messages.describe_transactions import DescribeTransactionsRequest
from cordwood.protocol.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from cordwood.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from tests.unit.broker.broker_samples import BrokerHarness, run
from tests.unit.broker.coordinators.coordinator_samples import TRANSACTION, coordinating, locate
from tests.unit.broker.handlers.test_transactions import begun
from tests.unit.broker.handlers.transaction_samples import TransactionalProducerOf
from tests.unit.broker.test_loop_turns import SteppingClock, turns_of


async def mark(producer: TransactionalProducerOf, *topics: WritableTxnMarkerTopic) -> list[int]:
    """Abort a producer's transaction by hand; return the error codes."""
    marker = WritableTxnMarker(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        transaction_result=False,
        topics=[*topics],
        coordinator_epoch=0,
    )
    harness = producer.harness
    answer = await write_txn_markers(
        harness.broker, harness.context(2), WriteTxnMarkersRequest(markers=[marker])
    )
    return [each.error_code for topic in answer.markers[0].topics for each in topic.partitions]


async def listed(harness: BrokerHarness, **filters: object) -> tuple[int, list[str], list[str]]:
    request = ListTransactionsRequest(state_filters=[], producer_id_filters=[])
    for name, value in filters.items():
        setattr(request, name, value)
    answer = await list_transactions(harness.broker, harness.context(2), request)
    states = [each.transaction_state for each in answer.transaction_states]
    return answer.error_code, answer.unknown_state_filters, states


def test_hanging_transaction_is_ended_by_hand() -> None:
    async def scene() -> tuple[object, ...]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.add()
            await producer.send()
            orders = WritableTxnMarkerTopic(name="orders", partition_indexes=[0, 9])
            offsets = WritableTxnMarkerTopic(name="__consumer_offsets", partition_indexes=[0, 9])
            return await mark(producer, orders, offsets), producer.bounds()

    assert run(scene()) == ([0, 3, 0, 6], (2, 2))


def test_transactions_are_described() -> None:
    async def scene() -> list[tuple[int, str, list[str]]]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.add()
            request = DescribeTransactionsRequest(transactional_ids=["t", "none"])
            answer = await describe_transactions(harness.broker, harness.context(0), request)
            return [
                (each.error_code, each.transaction_state, [topic.topic for topic in each.topics])
                for each in answer.transaction_states
            ]

    assert run(scene()) == [(0, "Ongoing", ["orders"]), (105, "", [])]


def test_description_without_a_coordinator_has_its_error() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            request = DescribeTransactionsRequest(transactional_ids=["t"])
            answer = await describe_transactions(harness.broker, harness.context(0), request)
            return answer.transaction_states[0].error_code

    assert run(scene()) == 16


@pytest.mark.parametrize(
    ("filters", "found"),
    (
        ({}, (0, [], ["Ongoing"])),
        ({"state_filters": ["Ongoing", "Odd"]}, (0, ["Odd"], ["Ongoing"])),
        ({"state_filters": ["Empty"]}, (0, [], [])),
        ({"transactional_id_pattern": "t.*"}, (0, [], ["Ongoing"])),
        ({"transactional_id_pattern": "x"}, (0, [], [])),
        ({"transactional_id_pattern": "("}, (128, [], [])),
    ),
)
def test_transactions_of_all_partitions_are_listed(
    filters: dict[str, object], found: tuple[int, list[str], list[str]]
) -> None:
    async def scene() -> tuple[int, list[str], list[str]]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.add()
            return await listed(harness, **filters)

    assert run(scene()) == found


def test_transactions_are_not_listed_while_a_partition_is_loaded() -> None:
    async def scene() -> int:
        async with coordinating() as harness:
            await begun(harness)
            runtime = harness.broker.coordinators.transactions.runtime
            log = runtime.log(0)
            assert log is not None
            runtime.elect(log)
            return (await listed(harness))[0]

    assert run(scene()) == 14


def test_partition_that_moves_meanwhile_is_listed_by_its_next_coordinator() -> None:
    async def scene() -> tuple[int, list[str], list[str]]:
        async with coordinating() as harness:
            producer = await begun(harness)
            await producer.add()
            groups = harness.broker.coordinators.transactions
            others = [each for each in range(3) if each != groups.partition_of("t")]
            runtime = groups.runtime
            first = runtime.partitions

            def moving() -> list[int]:
                found = [*first()]
                runtime.resign(others[0])
                return found

            runtime.partitions = moving  # type: ignore[method-assign]  # the move is in between
            return await listed(harness)

    assert run(scene()) == (0, [], ["Ongoing"])


def test_id_that_is_named_twice_is_described_once() -> None:
    async def scene() -> list[str]:
        async with coordinating() as harness:
            request = DescribeTransactionsRequest(transactional_ids=["t", "u", "t"])
            answer = await describe_transactions(harness.broker, harness.context(0), request)
            return [each.transactional_id for each in answer.transaction_states]

    assert run(scene()) == ["t", "u"]


def test_ids_of_one_partition_are_listed_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    """20,000 ids were one event of 22 ms."""
    parts = list[int]()

    def matching(*given: object, **named: object) -> ListTransactionsResponse:
        found = list_matching(*given, **named)  # type: ignore[arg-type]  # as they came
        parts.append(len(found.transaction_states))
        return found

    monkeypatch.setattr(transaction_listing, "list_matching", matching)
    monkeypatch.setattr(transaction_admin, "MOST_LISTED", 2)

    async def scene() -> int:
        async with coordinating(transaction_state_log_num_partitions="1") as harness:
            for name in ("a", "b", "c"):
                producer = TransactionalProducerOf(harness, name)
                await locate(harness, name, TRANSACTION)
                await producer.init()
            return len((await listed(harness))[2])

    assert run(scene()) == 3
    assert parts == [2, 1]


def test_results_of_many_markers_are_collected_in_turns() -> None:
    """10,000 markers that had been written already were collected in one turn of 100 ms."""

    async def scene() -> int:
        async with coordinating() as harness:
            topic = WritableTxnMarkerTopic(name="none", partition_indexes=[*range(200)])
            producer = TransactionalProducerOf(harness)
            harness.broker.turns = TurnQueue(SteppingClock())
            return await turns_of(mark(producer, topic))

    begun_in, collected_in = 20, 20
    assert run(scene()) > begun_in + collected_in - 5

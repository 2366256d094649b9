"""Aborts of hanging transactions, with and without the view of the leader."""

from collections.abc import Iterable, Mapping

import pytest

from cordwood.cli.transactions_run import (
    AbortedProducer,
    abort_at,
    abort_producer,
    find_hanging,
    partitions_to_search,
)
from cordwood.client.admin.admin_types import PartitionDescription, TopicDescription
from cordwood.client.admin.transaction_types import ActiveProducer
from cordwood.client.topic_partitions import partitions_of
from cordwood.core.errors import InvalidRequestError

PLACE = ("orders", 0)


def active(
    producer_id: int, *, coordinator_epoch: int | None = 2, start: int | None = 5
) -> ActiveProducer:
    return ActiveProducer(
        producer_id=producer_id,
        epoch=3,
        last_sequence=0,
        last_timestamp=100,
        coordinator_epoch=coordinator_epoch,
        transaction_start=start,
    )


class RecordingAdmin:
    """The calls of the command: partitions of two brokers, some producers, no transactions."""

    def __init__(self, *producers: ActiveProducer) -> None:
        self.aborted = list[tuple[int, int, int]]()
        self.searches = list[int | None]()
        self._producers = producers

    def list_topics(self, *, with_internal: bool) -> list[str]:
        assert with_internal
        return ["orders", "returns"]

    def describe_topics(self, names: Iterable[str]) -> list[TopicDescription]:
        return [
            TopicDescription(
                name=name,
                topic_id="",
                is_internal=False,
                partitions=tuple(
                    PartitionDescription(
                        partition=number,
                        leader=1,
                        leader_epoch=0,
                        replicas=(1, number + 1),
                        in_sync=(1,),
                        offline=(),
                    )
                    for number in range(2)
                ),
            )
            for name in names
        ]

    def describe_producers(
        self, partitions: Iterable[tuple[str, int]], *, broker: int | None = None
    ) -> Mapping[object, list[ActiveProducer]]:
        self.searches.append(broker)
        return {each: [*self._producers] for each in partitions_of(partitions)}

    def list_transactions(self, *, producer_ids: Iterable[int]) -> list[object]:
        del producer_ids
        return []

    def describe_transactions(self, transactional_ids: Iterable[str]) -> list[object]:
        return [*transactional_ids]

    def abort_transaction(
        self, partition: tuple[str, int], *, producer_id: int, epoch: int, coordinator_epoch: int
    ) -> None:
        assert partition == PLACE
        self.aborted.append((producer_id, epoch, coordinator_epoch))


@pytest.mark.parametrize(
    ("topic", "partition", "broker", "count"),
    ((None, None, None, 4), ("orders", None, None, 2), ("orders", 1, None, 1), (None, None, 2, 2)),
)
def test_search_covers_the_replicas_of_topics_and_brokers(
    topic: str | None, partition: int | None, broker: int | None, count: int
) -> None:
    found = partitions_to_search(
        RecordingAdmin(),  # type: ignore[arg-type]  # the calls that are needed
        topic=topic,
        partition=partition,
        broker=broker,
    )

    assert len(found) == count


def test_partition_that_a_broker_does_not_have_is_an_error() -> None:
    with pytest.raises(InvalidRequestError, match="no partition 0 on broker 2"):
        partitions_to_search(
            RecordingAdmin(),  # type: ignore[arg-type]  # the calls that are needed
            topic="orders",
            partition=0,
            broker=2,
        )


def test_transaction_without_a_coordinator_hangs() -> None:
    admin = RecordingAdmin(active(7))

    found = find_hanging(
        admin,  # type: ignore[arg-type]  # the calls that are needed
        [PLACE],
        broker=1,
        older_than_ms=200,
    )

    assert [each.producer_id for _, each in found] == [7]
    assert admin.searches == [1]


def test_transaction_is_found_by_its_offset() -> None:
    admin = RecordingAdmin(active(7), active(8, start=9, coordinator_epoch=None))

    abort_at(admin, PLACE, start_offset=9)  # type: ignore[arg-type]  # the calls that are needed

    assert admin.aborted == [(8, 3, 0)]


@pytest.mark.parametrize(
    ("given", "aborted", "searches"),
    (
        (AbortedProducer(7, None, None), (7, 3, 2), 1),
        (AbortedProducer(7, 1, None), (7, 1, 2), 1),
        (AbortedProducer(7, None, 0), (7, 3, 0), 1),
        (AbortedProducer(9, 1, 0), (9, 1, 0), 0),
    ),
)
def test_producer_is_completed_from_the_leader_s_view(
    given: AbortedProducer, aborted: tuple[int, int, int], searches: int
) -> None:
    admin = RecordingAdmin(active(7))

    abort_producer(admin, PLACE, producer=given)  # type: ignore[arg-type]  # the calls that are needed

    assert admin.aborted == [aborted]
    assert len(admin.searches) == searches


@pytest.mark.parametrize(
    ("producer_id", "message"),
    ((7, "orders-0: producer 7 has no open transaction"), (8, "the leader knows no producer 8")),
)
def test_producer_without_an_open_transaction_is_an_error(producer_id: int, message: str) -> None:
    admin = RecordingAdmin(active(7, start=None))
    given = AbortedProducer(producer_id, None, None)

    with pytest.raises(InvalidRequestError, match=message):
        abort_producer(admin, PLACE, producer=given)  # type: ignore[arg-type]  # the calls that are needed

    assert admin.aborted == []

"""Work of `cordwood transactions`: finds hanging transactions and aborts them."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from cordwood.client.admin.hanging_transactions import is_hanging, open_transactions
from cordwood.client.admin.transaction_types import ActiveProducer, TransactionDescription
from cordwood.client.blocking import Admin
from cordwood.core.errors import InvalidRequestError
from cordwood.core.types import TopicPartition


class AbortedProducer(NamedTuple):
    """The producer of a transaction to abort; the leader's view gives what is None."""

    producer_id: int
    epoch: int | None
    coordinator_epoch: int | None


def find_hanging(
    admin: Admin, partitions: Sequence[tuple[str, int]], *, broker: int | None, older_than_ms: int
) -> list[tuple[TopicPartition, ActiveProducer]]:
    """Return the hanging transactions of partitions, as their leaders or one broker see them."""
    producers = admin.describe_producers(partitions, broker=broker)
    candidates = list(open_transactions(producers, older_than_ms=older_than_ms))
    known = _known(admin, sorted({each.producer_id for _, each in candidates}))
    return [
        (partition, each)
        for partition, each in candidates
        if is_hanging(partition, known=known.get(each.producer_id))
    ]


def partitions_to_search(
    admin: Admin, *, topic: str | None, partition: int | None, broker: int | None
) -> list[tuple[str, int]]:
    """Return the partitions of a topic, or of all topics, that have a replica on a broker."""
    names = admin.list_topics(with_internal=True) if topic is None else [topic]
    found = [
        (each.name, part.partition)
        for each in admin.describe_topics(names)
        for part in each.partitions
        if partition in {None, part.partition}
        if broker is None or broker in part.replicas
    ]
    if partition is not None and not found:
        where = "" if broker is None else f" on broker {broker}"
        raise InvalidRequestError(f"topic {topic!r} has no partition {partition}{where}")
    return found


def _known(admin: Admin, producer_ids: Sequence[int]) -> Mapping[int, TransactionDescription]:
    """Return the coordinators' views by producer id."""
    if not producer_ids:
        return {}
    listed = admin.list_transactions(producer_ids=producer_ids)
    described = admin.describe_transactions(each.transactional_id for each in listed)
    return {each.producer_id: each for each in described}


def abort_at(admin: Admin, partition: tuple[str, int], *, start_offset: int) -> None:
    """Abort the open transaction that begins at an offset."""
    open_here = [
        each for each in _producers(admin, partition) if each.transaction_start == start_offset
    ]
    if not open_here:
        raise InvalidRequestError(
            f"{partition[0]}-{partition[1]}: no open transaction begins at offset {start_offset};"
            " `cordwood transactions find-hanging` prints those that hang"
        )
    (found,) = open_here
    producer = AbortedProducer(found.producer_id, found.epoch, None)
    _abort(admin, partition, producer=producer, known=found)


def abort_producer(admin: Admin, partition: tuple[str, int], *, producer: AbortedProducer) -> None:
    """Abort the open transaction of a producer; with all values, without asking the leader."""
    known: ActiveProducer | None = None
    if producer.epoch is None or producer.coordinator_epoch is None:
        known = next(
            (
                each
                for each in _producers(admin, partition)
                if each.producer_id == producer.producer_id
            ),
            None,
        )
        if known is None:
            raise InvalidRequestError(
                f"{partition[0]}-{partition[1]}: the leader knows no producer"
                f" {producer.producer_id}; `cordwood transactions describe-producers` prints those"
                " that it knows"
            )
        if known.transaction_start is None:
            raise InvalidRequestError(
                f"{partition[0]}-{partition[1]}: producer {producer.producer_id} has no open"
                " transaction; `cordwood transactions find-hanging` prints those that hang"
            )
    _abort(admin, partition, producer=producer, known=known)


def _abort(
    admin: Admin,
    partition: tuple[str, int],
    *,
    producer: AbortedProducer,
    known: ActiveProducer | None,
) -> None:
    epoch, coordinator_epoch = producer.epoch, producer.coordinator_epoch
    if known is not None:
        epoch = known.epoch if epoch is None else epoch
        if coordinator_epoch is None:
            coordinator_epoch = known.coordinator_epoch or 0
    assert epoch is not None, "it is given, or the leader knows the producer"
    assert coordinator_epoch is not None, "as above"
    admin.abort_transaction(
        partition,
        producer_id=producer.producer_id,
        epoch=epoch,
        coordinator_epoch=coordinator_epoch,
    )


def _producers(admin: Admin, partition: tuple[str, int]) -> list[ActiveProducer]:
    (producers,) = admin.describe_producers([partition]).values()
    return producers

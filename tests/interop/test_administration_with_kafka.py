"""Our admin client lists, describes, alters and ends groups and transactions of Kafka 4.3."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import pytest

import cordwood
from cordwood.client.group_offset import GroupOffset
from cordwood.client.transaction_handle import TransactionHandle
from cordwood.core.errors import (
    GroupIdNotFoundError,
    InvalidTxnStateError,
    NonEmptyGroupError,
    ProducerFencedError,
    TransactionalIdNotFoundError,
    UnknownMemberIdError,
)
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.installed import peer
from tests.interop.kafka_harness.patience import wait_for_result

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

confluent_kafka = peer("confluent_kafka")


class Member(Protocol):
    """The part of librdkafka's consumer that is used here."""

    def poll(self, timeout: float) -> object: ...

    def assignment(self) -> list[object]: ...

    def close(self) -> None: ...


@pytest.fixture(scope="module")
def admin(broker43: Broker) -> Iterator[cordwood.Admin]:
    with cordwood.Admin(broker43.bootstrap) as made:
        yield made


@contextmanager
def member(broker: Broker, topic: str, group: str, **settings: str) -> Iterator[Member]:
    """A running member that has its partitions."""
    made: Member = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.bootstrap, "group.id": group, "client.id": "mark", **settings}
    )
    made.subscribe([topic])  # type: ignore[attr-defined]  # librdkafka has no types
    wait_for_result(lambda: (made.poll(0.1), len(made.assignment())), (None, 1))
    try:
        yield made
    finally:
        made.close()


@pytest.mark.parametrize("protocol", ("classic", "consumer"))
def test_group_with_a_member_is_described(
    broker43: Broker, admin: cordwood.Admin, protocol: str
) -> None:
    topic = group = f"described-{protocol}"
    broker43.create_topics({topic: {}})

    with member(broker43, topic, group, **{"group.protocol": protocol}):
        (found,) = admin.describe_groups([group])
        (listed,) = [each for each in admin.list_groups() if each.group_id == group]
        with pytest.raises(NonEmptyGroupError, match="stop the group's members first"):
            admin.delete_groups([group])
        with pytest.raises(UnknownMemberIdError, match="stop the group's members first"):
            admin.alter_group_offsets(group, {(topic, 0): 5})

    (only,) = found.members
    assert (found.type, found.protocol_type, found.state) == (protocol, "consumer", "Stable")
    assert (only.client_id, only.host, only.assignment) == ("mark", "/127.0.0.1", ((topic, 0),))
    assert (listed.type, listed.state) == (protocol, "Stable")
    assert (found.group_epoch is None) == (protocol == "classic")
    assert found.coordinator == 1


def test_groups_are_filtered_by_state_and_type(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = group = "filtered-groups"
    broker43.create_topics({topic: {}})
    admin.alter_group_offsets(group, {(topic, 0): 0})

    def names(**filters: list[str]) -> set[str]:
        return {each.group_id for each in admin.list_groups(**filters)}

    assert group in names(states=["empty"])
    assert group in names(types=["Classic"], states=["Empty"])
    assert group not in names(types=["consumer"])


def test_offsets_of_an_empty_group_are_altered_and_deleted(
    broker43: Broker, admin: cordwood.Admin
) -> None:
    topic = group = "altered-offsets"
    broker43.create_topics({topic: {}, "altered-too": {}})

    admin.alter_group_offsets(group, {(topic, 0): GroupOffset(7, "note", 0), ("altered-too", 0): 9})

    assert admin.list_group_offsets(group) == {
        (topic, 0): GroupOffset(7, "note", 0),
        ("altered-too", 0): GroupOffset(9),
    }
    assert admin.list_group_offsets(group, [(topic, 0)]).keys() == {(topic, 0)}
    admin.delete_group_offsets(group, [(topic, 0)])
    assert admin.list_group_offsets(group).keys() == {("altered-too", 0)}
    admin.delete_groups([group])
    with pytest.raises(GroupIdNotFoundError):
        admin.describe_groups([group])
    with pytest.raises(GroupIdNotFoundError, match="check the name"):
        admin.delete_groups([group])


def test_static_member_is_removed(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = group = "removed-members"
    broker43.create_topics({topic: {}})

    with member(broker43, topic, group, **{"group.instance.id": "s1"}):
        admin.remove_members(group, ["s1"], reason="maintenance")
        (found,) = admin.describe_groups([group])

    assert found.members == ()


def test_all_members_are_removed(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = group = "all-members-removed"
    broker43.create_topics({topic: {}})

    with member(broker43, topic, group):
        admin.remove_members(group)
        (found,) = admin.describe_groups([group])

    assert found.members == ()


class Abandoned:
    """A transactional producer of librdkafka whose transaction stays open."""

    def __init__(self, broker: Broker, topic: str) -> None:
        broker.create_topics({topic: {}})
        self.topic = topic
        self._producer = confluent_kafka.Producer(
            {"bootstrap.servers": broker.bootstrap, "transactional.id": topic}
        )
        self._producer.init_transactions(30)

    def write(self) -> None:
        self._producer.begin_transaction()
        self._producer.produce(self.topic, b"plank")
        self._producer.flush(30)


def handle_of(admin: cordwood.Admin, topic: str, version: int) -> TransactionHandle:
    (found,) = admin.describe_transactions([topic])
    return TransactionHandle(topic, found.producer_id, found.epoch, version)


def values(broker: Broker, topic: str) -> list[bytes | None]:
    records = broker.oracle.consume(broker.bootstrap, topic, "read_committed")
    return [each.value for each in records]


def test_open_transaction_is_listed_and_described(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = "described-transaction"
    Abandoned(broker43, topic).write()

    (found,) = admin.describe_transactions([topic])
    ((producer,),) = admin.describe_producers([(topic, 0)]).values()

    assert (found.state, found.partitions, found.coordinator) == ("Ongoing", ((topic, 0),), 1)
    assert found.start_ms is not None
    assert (producer.producer_id, producer.transaction_start) == (found.producer_id, 0)
    assert producer.coordinator_epoch is None
    for filters in ({"pattern": "described-.*"}, {"producer_ids": [found.producer_id]}):
        (listed,) = admin.list_transactions(states=["Ongoing"], **filters)
        assert (listed.transactional_id, listed.state) == (topic, "Ongoing")
    # An id without a transaction has no start, so Kafka lists it for every duration.
    assert admin.list_transactions(states=["Ongoing"], min_duration_ms=10**9) == []
    with pytest.raises(TransactionalIdNotFoundError, match="check the name"):
        admin.describe_transactions(["no-such-id"])


@pytest.mark.parametrize("version", (1, 2))
@pytest.mark.parametrize("commit", (True, False))
def test_transaction_is_ended_from_elsewhere(
    broker43: Broker, admin: cordwood.Admin, *, version: int, commit: bool
) -> None:
    topic = f"ended-from-elsewhere-{version}-{commit}"
    Abandoned(broker43, topic).write()
    handle = handle_of(admin, topic, version)

    after = admin.end_transaction(handle, commit=commit)
    again = admin.end_transaction(handle, commit=commit)

    assert after == again == handle._replace(epoch=handle.epoch + (version == 2))
    ended = "CompleteCommit" if commit else "CompleteAbort"
    wait_for_result(lambda: admin.describe_transactions([topic])[0].state, ended)
    assert values(broker43, topic) == [b"plank"] * commit
    with pytest.raises(InvalidTxnStateError, match="ended the other way"):
        admin.end_transaction(handle, commit=not commit)


def test_fenced_handle_names_the_remedy(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = "fenced-handle"
    Abandoned(broker43, topic).write()
    handle = handle_of(admin, topic, 2)

    fenced = admin.fence_producers([topic])

    assert fenced[topic].epoch > handle.epoch
    with pytest.raises(ProducerFencedError, match="a later producer with this id has fenced it"):
        admin.end_transaction(handle, commit=True)
    assert values(broker43, topic) == []


def test_transaction_is_aborted_by_its_marker(broker43: Broker, admin: cordwood.Admin) -> None:
    topic = "aborted-by-marker"
    Abandoned(broker43, topic).write()
    ((producer,),) = admin.describe_producers([(topic, 0)]).values()

    admin.abort_transaction(
        (topic, 0),
        producer_id=producer.producer_id,
        epoch=producer.epoch,
        coordinator_epoch=producer.coordinator_epoch or 0,
    )

    ((after,),) = admin.describe_producers([(topic, 0)]).values()
    assert (after.transaction_start, after.coordinator_epoch) == (None, 0)
    assert values(broker43, topic) == []

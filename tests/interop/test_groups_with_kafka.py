"""Our consumers as members of Kafka's groups: with each other, and with librdkafka's consumer."""

import subprocess
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Final

import pytest

import cordwood
from tests.interop.kafka_harness.brokers import FAST_RESTART, Broker, kraft_broker
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.oracle import Oracle
from tests.interop.kafka_harness.patience import PATIENCE_S

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

PROTOCOLS: Final = ("classic", "consumer")
PARTITIONS: Final = 6
_NUMBERS: Final = count()

Plain = cordwood.Consumer[bytes, bytes]


@pytest.fixture
def topic(broker43: Broker) -> str:
    """A new topic."""
    name = f"our-group-{next(_NUMBERS)}"
    create(broker43, name)
    return name


def create(broker: Broker, name: str) -> None:
    with cordwood.Admin(broker.bootstrap) as admin:
        admin.create_topic(name, partitions=PARTITIONS)


@contextmanager
def member(broker: Broker, group: str, **options: object) -> Iterator[Plain]:
    quick = {"auto_offset_reset": "earliest", "heartbeat_interval_ms": 300, "fetch_max_wait_ms": 50}
    with cordwood.Consumer(broker.bootstrap, group=group, **{**quick, **options}) as made:  # type: ignore[arg-type]  # by name
        yield made


def produce(broker: Broker, topic: str, numbers: range) -> None:
    with cordwood.Producer(broker.bootstrap) as producer:
        for number in numbers:
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)


def poll_until(members: Sequence[Plain], is_done: Callable[[], bool]) -> dict[int, list[int]]:
    """Poll all members in turn; return the values by partition in the order of their arrival."""
    found: dict[int, list[int]] = defaultdict(list)
    end = time.monotonic() + PATIENCE_S
    while not is_done():
        assert time.monotonic() < end, f"assigned: {[each.assignment() for each in members]}"
        for each in members:
            for record in each.poll(50):
                found[record.partition].append(int(record.value or b""))
    return found


def shares(members: Sequence[Plain]) -> list[int]:
    return sorted(len(each.assignment()) for each in members)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_members_share_the_partitions_and_take_over_those_of_one_that_leaves(
    broker43: Broker, topic: str, protocol: str
) -> None:
    with (
        member(broker43, topic, group_protocol=protocol) as first,
        member(broker43, topic, group_protocol=protocol) as second,
        member(broker43, topic, group_protocol=protocol) as third,
    ):
        members = [first, second, third]
        for each in members:
            each.subscribe([topic])

        poll_until(members, lambda: shares(members) == [2, 2, 2])
        owned = {each for consumer in members for each in consumer.assignment()}
        first.close()
        poll_until([second, third], lambda: shares([second, third]) == [3, 3])

    assert len(owned) == PARTITIONS


@pytest.mark.parametrize(
    ("protocol", "assignor"),
    (
        ("classic", "range"),
        ("classic", "roundrobin"),
        ("classic", "cooperative-sticky"),
        ("consumer", "range"),
    ),
)
def test_no_record_is_lost_and_order_is_kept_while_members_come_and_go(
    broker43: Broker, topic: str, protocol: str, assignor: str
) -> None:
    options = {"group_protocol": protocol, "partition_assignment_strategy": [assignor]}
    total, seen = 1_800, Counter[int]()
    orders: list[dict[int, list[int]]] = []

    def read(members: Sequence[Plain], least: int, *, share: int) -> None:
        def is_done() -> bool:
            return shares(members)[0] == share and len(seen) >= least

        for each in members:
            found = _Counted(each, seen)
            orders.append(found.by_partition)
            counted.append(found)
        end = time.monotonic() + PATIENCE_S
        while not is_done():
            assert time.monotonic() < end, (shares(members), len(seen))
            for one in counted[-len(members) :]:
                one.poll()

    counted: list[_Counted] = []
    produce(broker43, topic, range(600))
    with member(broker43, topic, **options) as first, member(broker43, topic, **options) as second:
        first.subscribe([topic])
        read([first], 300, share=6)
        second.subscribe([topic])
        produce(broker43, topic, range(600, 1_200))
        read([first, second], 900, share=3)
        produce(broker43, topic, range(1_200, total))
        first.close()
        read([second], total, share=6)

    assert sorted(seen) == list(range(total))
    assert all(_is_ascending(each) for order in orders for each in order.values())


class _Counted:
    """A member whose records are counted."""

    def __init__(self, consumer: Plain, seen: Counter[int]) -> None:
        self.by_partition: dict[int, list[int]] = defaultdict(list)
        self._consumer = consumer
        self._seen = seen

    def poll(self) -> None:
        for record in self._consumer.poll(20, max_records=25):
            value = int(record.value or b"")
            self._seen[value] += 1
            self.by_partition[record.partition].append(value)


def _is_ascending(values: list[int]) -> bool:
    """Return whether values ascend but for repeated stretches, as at least once allows."""
    known = -1
    for before, value in zip([-1, *values], values, strict=False):
        if value > before and value > known + PARTITIONS and known >= 0:
            return False
        known = max(known, value)
    return True


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_group_has_members_of_both_clients(
    broker43: Broker, topic: str, protocol: str, librdkafka: None
) -> None:
    import confluent_kafka  # noqa: PLC0415 - only with the wheel

    theirs = confluent_kafka.Consumer(
        {
            "bootstrap.servers": broker43.bootstrap,
            "group.id": topic,
            "group.protocol": protocol,
            "auto.offset.reset": "earliest",
        }
        | ({"partition.assignment.strategy": "range"} if protocol == "classic" else {})
    )
    theirs.subscribe([topic])
    produce(broker43, topic, range(60))

    with member(broker43, topic, group_protocol=protocol) as ours:
        ours.subscribe([topic])
        end = time.monotonic() + PATIENCE_S
        while (len(ours.assignment()), len(theirs.assignment())) != (3, 3):
            assert time.monotonic() < end
            ours.poll(50)
            theirs.poll(0.05)
        theirs.close()
        poll_until([ours], lambda: len(ours.assignment()) == PARTITIONS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_static_member_returns_to_its_partitions_without_a_rebalance(
    broker43: Broker, topic: str, protocol: str
) -> None:
    revoked: list[object] = []
    with member(broker43, topic, group_protocol=protocol, group_instance_id="b") as stays:
        with member(broker43, topic, group_protocol=protocol, group_instance_id="a") as first:
            stays.subscribe([topic], on_revoked=revoked.append)
            first.subscribe([topic])
            poll_until([stays, first], lambda: shares([stays, first]) == [3, 3])
            before = set(first.assignment())
            revoked.clear()
        with member(broker43, topic, group_protocol=protocol, group_instance_id="a") as again:
            again.subscribe([topic])
            poll_until([stays, again], lambda: shares([stays, again]) == [3, 3])
            assert (set(again.assignment()), revoked) == (before, [])
            again.close(leave_group=True)
        poll_until([stays], lambda: len(stays.assignment()) == PARTITIONS)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_pattern_subscribes_a_topic_that_is_created_later(broker43: Broker, protocol: str) -> None:
    prefix = f"our-pattern-{next(_NUMBERS)}"
    create(broker43, f"{prefix}-a")
    with member(broker43, prefix, group_protocol=protocol, metadata_max_age_ms=500) as consumer:
        consumer.subscribe(pattern=f"{prefix}-.*")
        poll_until([consumer], lambda: len(consumer.assignment()) == PARTITIONS)
        create(broker43, f"{prefix}-b")
        produce(broker43, f"{prefix}-b", range(6))
        found = poll_until([consumer], lambda: len(consumer.assignment()) == 2 * PARTITIONS)
        while sum(map(len, found.values())) < 6:
            found |= poll_until([consumer], lambda: True) or {}
            for record in consumer.poll(200):
                found.setdefault(record.partition, []).append(int(record.value or b""))


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_offsets_are_committed_for_other_clients(
    broker43: Broker, topic: str, protocol: str, librdkafka: None
) -> None:
    import confluent_kafka.admin  # noqa: PLC0415 - only with the wheel

    produce(broker43, topic, range(60))
    with member(broker43, topic, group_protocol=protocol, enable_auto_commit=False) as consumer:
        consumer.subscribe([topic])
        seen = 0
        while seen < 60:
            seen += len(consumer.poll(1_000))
        consumer.commit()
        consumer.commit({(topic, 0): cordwood.GroupOffset(7, "by hand")})
        known = consumer.committed([(topic, 0), (topic, 1)])

    admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": broker43.bootstrap})
    wanted = confluent_kafka.ConsumerGroupTopicPartitions(topic)
    theirs = admin.list_consumer_group_offsets([wanted])[topic].result().topic_partitions
    assert {each.partition: each.offset for each in theirs} == {0: 7} | dict.fromkeys(
        range(1, 6), 10
    )
    assert [each and (each.offset, each.metadata) for each in known.values()] == [
        (7, "by hand"),
        (10, ""),
    ]


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_kafka_consumer_groups_describes_our_member(
    broker43: Broker, kafka43_jars: Jars, topic: str, protocol: str
) -> None:
    produce(broker43, topic, range(60))
    options = {"group_protocol": protocol, "enable_auto_commit": False, "client_id": "ours"}
    with member(broker43, topic, **options) as consumer:
        consumer.subscribe([topic])
        poll_until([consumer], lambda: shares([consumer]) == [PARTITIONS])
        consumer.commit({(topic, number): 4 for number in range(PARTITIONS)})
        tool = kafka43_jars.command("org.apache.kafka.tools.consumer.group.ConsumerGroupCommand")
        asked = ["--bootstrap-server", broker43.bootstrap, "--describe", "--group", topic]
        done = subprocess.run([*tool, *asked], capture_output=True, text=True, check=True)

    rows = [line.split() for line in done.stdout.splitlines() if topic in line]
    assert [row[3:6] for row in rows] == [["4", "10", "6"]] * PARTITIONS
    assert {row[-1] for row in rows} == {"ours"}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_automatic_commits_are_where_the_next_member_continues(
    broker43: Broker, topic: str, protocol: str
) -> None:
    produce(broker43, topic, range(60))
    with member(broker43, topic, group_protocol=protocol) as first:
        first.subscribe([topic])
        found = poll_until([first], lambda: shares([first]) == [6])
        while sum(map(len, found.values())) < 60:
            for record in first.poll(100):
                found[record.partition].append(int(record.value or b""))

    produce(broker43, topic, range(60, 120))
    with member(broker43, topic, group_protocol=protocol) as second:
        second.subscribe([topic])
        values: list[int] = []
        while len(values) < 60:
            values += [int(record.value or b"") for record in second.poll(100)]

    assert sorted(values) == list(range(60, 120))


def test_assignment_without_an_offset_begins_at_the_committed_one(
    broker43: Broker, topic: str
) -> None:
    produce(broker43, topic, range(12))
    with member(broker43, topic) as consumer:
        consumer.commit({(topic, 0): 1})
        consumer.assign([(topic, 0), (topic, 1)])

        assert consumer.position((topic, 0)) == 1
        assert consumer.position((topic, 1)) == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_member_that_polls_late_loses_its_partitions_and_returns(
    broker43: Broker, topic: str, protocol: str
) -> None:
    lost: list[object] = []
    options = {"group_protocol": protocol, "max_poll_interval_ms": 1_000}
    with member(broker43, topic, **options) as late, member(broker43, topic, **options) as other:
        late.subscribe([topic], on_lost=lost.append)
        poll_until([late], lambda: shares([late]) == [6])
        other.subscribe([topic])
        poll_until([other], lambda: shares([other]) == [6])
        poll_until([late, other], lambda: shares([late, other]) == [3, 3])

    assert lost


@pytest.fixture
def mortal(kafka43_jars: Jars, kafka43: Oracle, tmp_path: Path) -> Iterator[Broker]:
    """A broker that a test may kill."""
    broker = kraft_broker(kafka43_jars, tmp_path, kafka43, FAST_RESTART)
    try:
        broker.start()
        yield broker
    finally:
        broker.stop()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_member_survives_the_death_of_its_coordinator(mortal: Broker, protocol: str) -> None:
    create(mortal, "t")
    produce(mortal, "t", range(60))
    with member(mortal, "g", group_protocol=protocol, enable_auto_commit=False) as consumer:
        consumer.subscribe(["t"])
        seen = Counter[int]()
        while len(seen) < 60:
            seen.update(int(record.value or b"") for record in consumer.poll(500))
        consumer.commit()
        mortal.kill()
        consumer.poll(500)
        mortal.start()
        produce(mortal, "t", range(60, 120))
        while len(seen) < 120:
            seen.update(int(record.value or b"") for record in consumer.poll(500))
        poll_until([consumer], lambda: shares([consumer]) == [PARTITIONS])
        consumer.commit()
        found = consumer.committed([("t", number) for number in range(PARTITIONS)])

    assert [each and each.offset for each in found.values()] == [20] * PARTITIONS

"""Features of logs and topics in the conformance test: one function each, and their table.

A feature acts through the client under test and checks the result with another: Kafka's own client
of the target, and Kafka's classes over the bytes on the target's disk.
"""

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final, Protocol

import pytest

from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.client import (
    EARLIEST,
    LATEST,
    CannotError,
    Client,
    Records,
    RefusedError,
    Sending,
)
from tests.interop.kafka_harness.patience import wait_for_result
from tests.interop.kafka_harness.samples import NOON, nulls
from tests.interop.kafka_harness.samples import headers as many_headers
from tests.interop.kafka_harness.spec import Json, SeenBatch, SpecRecord, renumbered

MESSAGE_TOO_LARGE: Final = 10
UNKNOWN_TOPIC_OR_PARTITION: Final = 3
TOPIC_ALREADY_EXISTS: Final = 36
INVALID_CONFIG: Final = 40
MEBIBYTE: Final = 1 << 20
NO_CONFIGS: Final[Mapping[str, str]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """The broker under test, and a topic name that is unique there."""

    broker: Broker
    topic: str

    def create(self, partitions: int = 1, configs: Mapping[str, str] = NO_CONFIGS) -> None:
        """Make the topic by other means than the client's."""
        self.broker.oracle.create_topics(
            self.broker.bootstrap, {self.topic: dict(configs)}, partitions=partitions
        )

    def at(self, topic: str) -> "Place":
        """Return a place for another topic."""
        return replace(self, topic=topic)

    def witness(self, isolation: str = "read_uncommitted") -> Records:
        """Return the records that Kafka's own consumer reads."""
        return self.broker.oracle.consume(self.broker.bootstrap, self.topic, isolation)

    def batches(self) -> list[SeenBatch]:
        """Return the batches that Kafka's own classes read from the broker's disk."""
        return self.broker.oracle.read(self.broker.segment(self.topic))

    def fill(self, count: int, *, value: str = "value") -> Records:
        """Records that another client has written, each a second after the one before."""
        records = texts(count, value=value)
        self.broker.oracle.produce(
            self.broker.bootstrap, self.topic, records, {"linger.ms": 50, "acks": "all"}
        )
        return records

    def ask(self, asked: str, **question: Json) -> Json:
        """Ask Kafka's own clients, which are not under test."""
        return self.broker.oracle.ask(asked, {"bootstrap": self.broker.bootstrap, **question})


class Check(Protocol):
    """A check of a client at a place; it fails when the broker differs from Kafka."""

    def __call__(self, client: Client, place: Place) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Feature:
    """One line of the page."""

    title: str
    check: Check
    creates_topics: bool = False


def texts(count: int, *, value: str = "value") -> Records:
    """Records with keys, times and values that name their place and whose they are."""
    return tuple(
        SpecRecord(
            offset=at,
            timestamp=NOON + at * 1_000,
            key=f"key-{at}".encode(),
            value=f"{value}-{at} größer 木".encode(),
        )
        for at in range(count)
    )


def told(client: Client, records: Records) -> Records:
    """Return the comparable fields: some clients do not choose the timestamps."""
    if client.has_times:
        return records
    return tuple(replace(record, timestamp=0) for record in records)


def _exchange(client: Client, place: Place, records: Records, sending: Sending) -> None:
    """The client reads what it wrote, and so does another."""
    client.produce(place.topic, records, sending)

    assert told(client, client.consume(place.topic, count=len(records))) == told(client, records)
    assert told(client, place.witness()) == told(client, records)


def soon(look: Callable[[], object], wanted: object) -> None:
    """Look until the wanted result, or error code, appears."""

    def seen() -> object:
        try:
            return look()
        except RefusedError as error:
            return error.code

    wait_for_result(seen, wanted)


def _produce_and_consume(client: Client, place: Place) -> None:
    if not client.has_assignment:
        raise CannotError("consumes only as a member of a group")
    place.create()

    _exchange(client, place, texts(20), Sending())


def _codec(codec: str) -> Check:
    def check(client: Client, place: Place) -> None:
        place.create()

        _exchange(
            client, place, texts(200, value="all work and no play " * 5), Sending(codec=codec)
        )

        identifiers = ("none", "gzip", "snappy", "lz4", "zstd")
        assert {identifiers[batch.codec] for batch in place.batches()} == {codec}

    return check


def _acks(client: Client, place: Place) -> None:
    place.create()
    for at, acks in enumerate((0, 1, -1)):
        client.produce(place.topic, texts(1, value=f"acks-{acks}"), Sending(acks=acks))

        wanted = [f"acks-{acks}-0 größer 木".encode()]
        if acks == 0:
            soon(lambda: _values_from(client, place, 0), wanted)
        assert _values_from(client, place, at) == wanted


def _values_from(client: Client, place: Place, offset: int) -> list[bytes | None]:
    return [each.value for each in client.consume(place.topic, start=offset, count=1)]


def _idempotence(client: Client, place: Place) -> None:
    place.create()

    _exchange(client, place, texts(50), Sending(is_idempotent=True))

    batches = place.batches()
    assert all(batch.producer_id >= 0 for batch in batches)
    assert [record.sequence for batch in batches for record in batch.records] == list(range(50))


def _headers(client: Client, place: Place) -> None:
    place.create()
    shapes = (("a", b"1"),), (("a", b"1"), ("a", b"2"), ("empty", b"")), ()
    records = [replace(texts(1)[0], headers=shape) for shape in shapes]

    _exchange(client, place, renumbered(records, first_offset=0), Sending())


def _bytes_and_nulls(client: Client, place: Place) -> None:
    if not client.is_binary:
        raise CannotError("takes and shows text")
    place.create()
    # Neither key nor value: that some clients refuse to send.
    records = [record for record in nulls() if (record.key, record.value) != (None, None)]
    records += [replace(records[0], key=bytes(range(256)), timestamp=NOON - 86_400_000)]

    _exchange(client, place, renumbered(records, first_offset=0), Sending())


def _null_headers(client: Client, place: Place) -> None:
    if not client.is_binary:
        raise CannotError("takes and shows text")
    place.create()

    _exchange(client, place, many_headers(), Sending())


def _large(client: Client, place: Place) -> None:
    place.create()
    text = random.Random(1).randbytes(500_000).hex()

    _exchange(client, place, texts(1, value=text), Sending())


def _too_large(client: Client, place: Place) -> None:
    place.create()

    with pytest.raises(RefusedError) as refused:
        client.produce(place.topic, texts(1, value="x" * 2 * MEBIBYTE), Sending())

    assert refused.value.code == MESSAGE_TOO_LARGE
    client.produce(place.topic, texts(1), Sending())
    assert len(place.witness()) == 1


def _seek(client: Client, place: Place) -> None:
    place.create()
    records = place.fill(30)

    seen = client.consume(place.topic, start=17, count=5)

    assert told(client, seen) == told(client, records[17:22])


def _offsets(client: Client, place: Place) -> None:
    place.create()
    place.fill(10)

    assert client.offset(place.topic, EARLIEST) == 0
    assert client.offset(place.topic, LATEST) == 10
    assert client.offset(place.topic, NOON + 3_500) == 4


def _partitions(client: Client, place: Place) -> None:
    place.create(partitions=3)

    client.produce(place.topic, texts(5), partition=2)

    seen = client.consume(place.topic, partition=2, count=5)
    assert told(client, seen) == told(client, texts(5))
    assert place.witness() == ()


def _topics(client: Client, place: Place) -> None:
    client.create_topic(place.topic, partitions=3, configs={"retention.ms": "777000"})

    soon(lambda: len(client.describe_topic(place.topic)), 3)
    client.delete_topic(place.topic)
    soon(lambda: client.describe_topic(place.topic), UNKNOWN_TOPIC_OR_PARTITION)


def _topic_twice(client: Client, place: Place) -> None:
    place.create()

    with pytest.raises(RefusedError) as refused:
        client.create_topic(place.topic, partitions=1, configs={})

    assert refused.value.code == TOPIC_ALREADY_EXISTS


def _bad_config(client: Client, place: Place) -> None:
    with pytest.raises(RefusedError) as refused:
        client.create_topic(place.topic, partitions=1, configs={"retention.ms": "soon"})

    assert refused.value.code == INVALID_CONFIG


def _unknown_topic(client: Client, place: Place) -> None:
    with pytest.raises(RefusedError) as refused:
        client.describe_topic(place.topic)

    assert refused.value.code == UNKNOWN_TOPIC_OR_PARTITION


def _more_partitions(client: Client, place: Place) -> None:
    place.create()

    client.grow_topic(place.topic, partitions=4)

    soon(lambda: len(client.describe_topic(place.topic)), 4)


def _configs(client: Client, place: Place) -> None:
    place.create(configs={"retention.ms": "5000"})

    assert client.config(place.topic, "retention.ms") == "5000"
    client.set_config(place.topic, name="retention.ms", value="7000")
    soon(lambda: client.config(place.topic, "retention.ms"), "7000")
    with pytest.raises(RefusedError) as refused:
        client.set_config(place.topic, name="retention.ms", value="soon")
    assert refused.value.code == INVALID_CONFIG


def _delete_records(client: Client, place: Place) -> None:
    place.create()
    records = place.fill(10)

    assert client.delete_records(place.topic, 7) == 7

    assert place.witness() == records[7:]


def _cluster(client: Client, place: Place) -> None:
    assert client.describe_cluster() == [1]


def _log_dirs(client: Client, place: Place) -> None:
    place.create()
    place.fill(10)

    sizes = client.log_dirs()

    assert sizes[f"{place.topic}-0"] == len(place.broker.segment(place.topic))


def _auto_creation(client: Client, place: Place) -> None:
    client.produce(place.topic, texts(3), Sending())

    assert told(client, place.witness()) == told(client, texts(3))


LOG_FEATURES: Final = (
    Feature(title="produce, consume by assignment", check=_produce_and_consume),
    Feature(title="acks 0, 1, all", check=_acks),
    *(Feature(title=name, check=_codec(name)) for name in ("gzip", "snappy", "lz4", "zstd")),
    Feature(title="idempotent producer", check=_idempotence),
    Feature(title="headers", check=_headers),
    Feature(title="keys and values of any bytes, or null", check=_bytes_and_nulls),
    Feature(title="headers of any bytes, or null", check=_null_headers),
    Feature(title="a message of 1 MB", check=_large),
    Feature(title="a message too large, rejected", check=_too_large),
    Feature(title="several partitions", check=_partitions),
    Feature(title="consume from an offset", check=_seek),
    Feature(title="offsets: earliest, latest, by time", check=_offsets),
    Feature(title="topics created on first use", check=_auto_creation, creates_topics=True),
    Feature(title="create, describe, delete a topic", check=_topics),
    Feature(title="an existing topic, rejected", check=_topic_twice),
    Feature(title="a bad setting, rejected", check=_bad_config),
    Feature(title="a missing topic, rejected", check=_unknown_topic),
    Feature(title="more partitions", check=_more_partitions),
    Feature(title="settings shown and changed", check=_configs),
    Feature(title="delete records", check=_delete_records),
    Feature(title="describe the cluster", check=_cluster),
    Feature(title="log directories", check=_log_dirs),
)

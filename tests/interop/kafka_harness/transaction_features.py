"""Features of transactions in the conformance test: one function each, and their table."""

from contextlib import suppress
from functools import partial
from typing import Final

import pytest

from tests.interop.kafka_harness.brokers import producer_settings
from tests.interop.kafka_harness.client import Client, Member, Membership, Records, RefusedError
from tests.interop.kafka_harness.features import Feature, Place, soon, texts
from tests.interop.kafka_harness.group_features import Polls, committed
from tests.interop.kafka_harness.spec import Json, record_to_json

#: INVALID_PRODUCER_EPOCH, PRODUCER_FENCED, and librdkafka's own code for either.
FENCED: Final = (47, 90, -144)


def _values(records: Records) -> list[bytes | None]:
    return [record.value for record in records]


def _committed_records(place: Place) -> list[bytes | None]:
    """Return the values that Kafka's own consumer reads when it reads committed records."""
    return _values(place.witness("read_committed"))


def _read_committed(client: Client, place: Place) -> None:
    place.create()
    parts = [(texts(5, value=name), name != "aborted") for name in ("first", "aborted", "second")]
    place.broker.oracle.produce_transactions(
        place.broker.bootstrap,
        place.topic,
        parts,
        producer_settings("none", transactional_id=place.topic),
    )

    seen = client.consume(place.topic, count=10, is_committed=True)

    assert _values(seen) == _values(parts[0][0] + parts[2][0])


def _transactions(client: Client, place: Place) -> None:
    place.create()
    producer = client.open_transactions(place.topic)
    for name in ("first", "aborted", "second"):
        producer.begin()
        producer.send(place.topic, texts(5, value=name))
        producer.end(commit=name != "aborted")
    producer.close()

    wanted = _values(texts(5, value="first") + texts(5, value="second"))
    soon(lambda: _committed_records(place), wanted)
    assert len(place.witness()) == 15


def _transform(client: Client, place: Place) -> None:
    origin = place.at(f"{place.topic}-source")
    origin.create()
    place.create()
    origin.fill(12)
    membership = Membership(group=place.topic, topic=origin.topic)
    for commit in (False, True):
        producer, member = client.open_session(place.topic, membership)
        producer.begin()
        _until_read(member, 12)
        producer.send(place.topic, texts(12, value=f"transformed-{commit}"))
        producer.send_offsets(member)
        producer.end(commit=commit)
        member.leave()
        producer.close()
        wanted: dict[str, Json] = {f"{origin.topic}-0": 12} if commit else {}
        soon(partial(committed, place, place.topic), wanted)

    soon(lambda: _committed_records(place), _values(texts(12, value="transformed-True")))


def _until_read(member: Member, count: int) -> None:
    """Poll until the member has read all records, which no transaction has committed yet."""
    polls = Polls(member)
    polls.until(lambda: len(polls.values) == count)


def _zombie(client: Client, place: Place) -> None:
    place.create()
    zombie = client.open_transactions(place.topic)
    zombie.begin()
    zombie.send(place.topic, texts(3, value="zombie"))
    successor = client.open_transactions(place.topic)
    successor.begin()
    successor.send(place.topic, texts(3, value="successor"))

    with pytest.raises(RefusedError) as refused:
        zombie.end(commit=True)

    assert refused.value.code in FENCED, refused.value
    successor.end(commit=True)
    for each in (successor, zombie):
        with suppress(RefusedError):
            each.close()
    soon(lambda: _committed_records(place), _values(texts(3, value="successor")))


def _shown(client: Client, place: Place) -> None:
    place.create()
    producer = place.ask("transaction_open", id=place.topic)
    place.ask("transaction_begin", producer=producer)
    place.ask(
        "transaction_send",
        producer=producer,
        topic=place.topic,
        records=[record_to_json(texts(1)[0])],
    )

    assert place.topic in client.list_transactions()
    assert client.describe_transaction(place.topic) == ("ongoing", [f"{place.topic}-0"])

    place.ask("transaction_end", producer=producer, commit=False)
    place.ask("transaction_close", producer=producer)


TRANSACTION_FEATURES: Final = (
    Feature(title="only committed records read", check=_read_committed),
    Feature(title="transactions committed and aborted", check=_transactions),
    Feature(title="consume, transform, produce in a transaction", check=_transform),
    Feature(title="a zombie fenced by its successor", check=_zombie),
    Feature(title="transactions listed and described", check=_shown),
)

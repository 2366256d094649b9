"""Every version of every message equals the bytes of Kafka's own classes, and is read back.

Samples are made from our declarations, so this cannot find a field whose nullable versions or
default are wrong: `test_protocol_definitions` does.
"""

import pytest

from cordwood.protocol.apis import APIS
from cordwood.protocol.codec import decode, encode
from cordwood.protocol.schema import Message
from tests.interop.kafka_harness.messages import as_json, kafkas_class, kinds, sample
from tests.interop.kafka_harness.oracle import Oracle

pytestmark = [pytest.mark.interop, pytest.mark.timeout(240)]

KINDS = tuple(kinds())


@pytest.fixture
def kafka_of(kind: type[Message], kafka39: Oracle, kafka43: Oracle) -> Oracle:
    """The last Kafka that has all our versions of a message."""
    key = kind.__schema__.api_key
    is_between_brokers = key is not None and APIS[key].is_between_brokers
    return kafka39 if is_between_brokers else kafka43


@pytest.mark.parametrize("with_nulls", (False, True))
@pytest.mark.parametrize("kind", KINDS, ids=[kind.__name__ for kind in KINDS])
def test_message_is_kafkas_bytes_in_every_version(
    kind: type[Message], kafka_of: Oracle, *, with_nulls: bool
) -> None:
    first, last = kind.__schema__.versions

    for version in range(first, last + 1):
        message = sample(kind, version, with_nulls=with_nulls)
        data = kafka_of.message(kafkas_class(kind), version, as_json(message, version))

        assert encode(message, version) == [data]
        assert decode(kind, data, version) == message

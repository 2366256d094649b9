"""Every declared field of every version equals Kafka's own definitions.

Kafka 4.3 has dropped the messages between brokers and some old versions; 3.9 has those, and the
request header with all of its versions.
"""

import pytest

from cordwood.protocol.apis import APIS
from cordwood.protocol.header import RequestHeader, ResponseHeader
from cordwood.protocol.messages.internal import GROUP_RECORDS, TRANSACTION_RECORDS
from cordwood.protocol.schema import Data, Message
from tests.interop.kafka_harness.definitions import (
    GIVEN,
    Json,
    definitions,
    kafkas_shapes,
    our_shapes,
    spoken,
    versions,
)
from tests.interop.kafka_harness.jars import Jars
from tests.interop.kafka_harness.messages import kinds

MESSAGES: list[type[Message]] = [
    RequestHeader,
    ResponseHeader,
    *kinds(),
]


@pytest.fixture(scope="module")
def kafka43_definitions(kafka43_jars: Jars) -> dict[str, Json]:
    return definitions(kafka43_jars)


@pytest.fixture(scope="module")
def kafka39_definitions(kafka39_jars: Jars) -> dict[str, Json]:
    return definitions(kafka39_jars)


@pytest.mark.parametrize("kind", MESSAGES, ids=lambda kind: kind.__name__)
def test_declaration_is_kafkas_in_every_version(
    kind: type[Message],
    kafka43_definitions: dict[str, Json],
    kafka39_definitions: dict[str, Json],
) -> None:
    for version in spoken(kind):
        definition = kafka43_definitions[kind.__name__]
        if kind is RequestHeader or version not in versions(definition["validVersions"]):
            definition = kafka39_definitions[kind.__name__]

        assert version in versions(definition["validVersions"])
        ours = our_shapes(kind, version)
        given = {shape.name for shape in ours if shape.default is GIVEN}
        assert ours == tuple(
            shape._replace(default=GIVEN) if shape.name in given else shape
            for shape in kafkas_shapes(definition, version, kind)
        )


@pytest.mark.parametrize("key", APIS)
def test_api_has_kafkas_key_and_first_flexible_version(
    key: int, kafka43_definitions: dict[str, Json], kafka39_definitions: dict[str, Json]
) -> None:
    api = APIS[key]
    found = kafka39_definitions if api.is_between_brokers else kafka43_definitions
    definition = found[f"{api.name}Request"]

    flexible = versions(definition["flexibleVersions"])

    assert definition["apiKey"] == key
    assert api.flexible_since == (flexible[0] if flexible else None)
    assert api.last in versions(definition["validVersions"])


@pytest.mark.parametrize("table", (GROUP_RECORDS, TRANSACTION_RECORDS))
def test_record_of_an_internal_topic_has_kafkas_type(
    table: dict[int, tuple[type[Data], type[Data]]], kafka43_definitions: dict[str, Json]
) -> None:
    for record_type, pair in table.items():
        for kind in pair:
            is_legacy = record_type == 0 and kind.__name__.startswith("OffsetCommit")
            definition = kafka43_definitions["Legacy" * is_legacy + kind.__name__]

            assert definition["apiKey"] == record_type


def test_comparison_finds_a_difference_between_versions(
    kafka43_definitions: dict[str, Json],
) -> None:
    request = APIS[1].request()

    kafkas = kafkas_shapes(kafka43_definitions["FetchRequest"], 13, request)

    assert our_shapes(request, 12) != kafkas
    assert [shape.name for shape in our_shapes(request, 13)] == [shape.name for shape in kafkas]

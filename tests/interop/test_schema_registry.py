"""Values of Confluent's serializers and ours, with the schemas of a real registry.

Confluent's client registers schemas and writes values in all three formats; ours reads them, and
writes others, which Confluent's client reads.
"""

import json
from collections.abc import Callable, Iterator
from typing import Final, Protocol

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from google.protobuf.message_factory import GetMessageClass

from cordwood.spark.formats.avro_decoder import AvroDecoder
from cordwood.spark.formats.avro_encoder import AvroEncoder
from cordwood.spark.formats.json_schemas import parse_json_schema
from cordwood.spark.formats.protobuf_decoder import ProtobufDecoder
from cordwood.spark.formats.protobuf_encoder import ProtobufEncoder
from cordwood.spark.formats.protobuf_files import message_file
from cordwood.spark.formats.schema_framing import HEADER_BYTES, frame_header, read_frame
from cordwood.spark.formats.schema_registry import SchemaRegistry, parse_registry
from cordwood.spark.formats.schema_source import AVRO, SchemaReference, SchemaText, SchemaTexts
from tests.interop.kafka_harness.installed import made, peer
from tests.interop.kafka_harness.schema_registry import fetch_registry, running_registry
from tests.unit.spark.formats.protobuf_samples import file_of, given

registry_client = peer("confluent_kafka.schema_registry")
confluent_avro = peer("confluent_kafka.schema_registry.avro")
confluent_json = peer("confluent_kafka.schema_registry.json_schema")
confluent_protobuf = peer("confluent_kafka.schema_registry.protobuf")
serialization = peer("confluent_kafka.serialization")

pytestmark = [pytest.mark.interop, pytest.mark.spark]


class ConfluentClient(Protocol):
    """A client of the registry, of a package without types."""


ORDER: Final = {
    "type": "record",
    "name": "shop.Order",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "by", "type": ["null", "string"], "default": None},
    ],
}
ADA: Final[dict[str, object]] = {"id": 7, "by": "ada"}
FILE: Final = """
name: "order.proto" package: "shop" syntax: "proto3"
message_type { name: "Before" }
message_type { name: "Order"
  field { name: "id" number: 1 type: TYPE_INT64 label: LABEL_OPTIONAL }
  field { name: "by" number: 2 type: TYPE_STRING label: LABEL_OPTIONAL } }
"""
JSON_ORDER: Final = {
    "title": "Order",
    "type": "object",
    "properties": {"id": {"type": "integer"}, "by": {"type": "string"}},
}


@pytest.fixture(scope="module", name="url")
def fixture_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Yield the address of a real registry."""
    with running_registry(made(fetch_registry), tmp_path_factory.mktemp("registry")) as url:
        yield url


@pytest.fixture(name="registry")
def fixture_registry(url: str) -> SchemaRegistry:
    """Return our client of the registry."""
    return parse_registry(url)


@pytest.fixture(name="confluent")
def fixture_confluent(url: str) -> Iterator[ConfluentClient]:
    """Yield Confluent's client of the registry."""
    with registry_client.SchemaRegistryClient({"url": url}) as client:
        yield client


def at(topic: str) -> object:
    """Return the place of a value, from which serializers make the name of its subject."""
    return serialization.SerializationContext(topic, serialization.MessageField.VALUE)


def test_avro_goes_both_ways(registry: SchemaRegistry, confluent: ConfluentClient) -> None:
    written = confluent_avro.AvroSerializer(confluent, json.dumps(ORDER))(ADA, at("avro"))
    assert written is not None
    number = registry.id_of("avro-value")

    assert AvroDecoder(registry, number).decode(written) == (number, ADA, None)
    ours = AvroEncoder(registry, number).encode(ADA).value
    assert ours == written
    assert confluent_avro.AvroDeserializer(confluent)(ours, at("avro")) == ADA


def test_avro_schema_refers_to_another_subject(registry: SchemaRegistry) -> None:
    money = {"type": "record", "name": "shop.Money", "fields": [{"name": "cent", "type": "long"}]}
    bill = {
        "type": "record",
        "name": "shop.Bill",
        "fields": [{"name": "sum", "type": "shop.Money"}],
    }
    registry.register("money", SchemaText(AVRO, json.dumps(money)))
    reference = SchemaReference("shop.Money", "money", 1)
    number = registry.register("bill", SchemaText(AVRO, json.dumps(bill), (reference,)))

    written = AvroEncoder(registry, number).encode({"sum": {"cent": 5}}).value

    assert AvroDecoder(registry, number).decode(written).record == {"sum": {"cent": 5}}


def test_json_goes_both_ways(registry: SchemaRegistry, confluent: ConfluentClient) -> None:
    text = json.dumps(JSON_ORDER)
    written = confluent_json.JSONSerializer(text, confluent)(ADA, at("json"))
    assert written is not None
    number = registry.id_of("json-value")

    assert read_frame(written) == (number, None)
    assert json.loads(written[HEADER_BYTES:]) == ADA
    found = parse_json_schema(registry.by_id(number), of="it")
    assert found.simpleString() == "struct<id:bigint,by:string>"
    ours = frame_header(number) + json.dumps(ADA).encode()
    assert (
        confluent_json.JSONDeserializer(text, schema_registry_client=confluent)(ours, at("json"))
        == ADA
    )


def test_protobuf_goes_both_ways(registry: SchemaRegistry, confluent: ConfluentClient) -> None:
    file = message_file(given(_1=file_of(FILE)).by_id(1), SchemaTexts({}), of="it")
    make = GetMessageClass(file.message_named("Order"))
    written = confluent_protobuf.ProtobufSerializer(
        make, confluent, {"use.deprecated.format": False}
    )(make(**ADA), at("protobuf"))
    assert written is not None
    number = registry.id_of("protobuf-value")

    assert ProtobufDecoder(registry, number, "Order").decode(written) == (number, ADA, None)
    ours = ProtobufEncoder(registry, number, "Order").encode(ADA).value
    assert ours == written
    read: Callable[..., object] = confluent_protobuf.ProtobufDeserializer(
        make, {"use.deprecated.format": False}
    )
    assert read(ours, at("protobuf")) == make(**ADA)


def test_unknown_schema_is_an_error_of_the_row(registry: SchemaRegistry) -> None:
    number = registry.register("text", SchemaText(AVRO, '"string"'))

    found = AvroDecoder(registry, number).decode(frame_header(1 << 30))

    assert found == (1 << 30, None, f"schema {1 << 30}: the registry has none")

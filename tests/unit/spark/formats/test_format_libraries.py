"""Errors of formats whose libraries are missing."""

import sys
from collections.abc import Callable
from functools import partial

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.core.errors import SparkError
from cordwood.spark.formats.avro_decoder import AvroDecoder
from cordwood.spark.formats.avro_encoder import AvroEncoder
from cordwood.spark.formats.avro_schemas import load_avro
from cordwood.spark.formats.format_libraries import FASTAVRO, PROTOBUF, ensure_library
from cordwood.spark.formats.protobuf_decoder import ProtobufDecoder
from cordwood.spark.formats.protobuf_encoder import ProtobufEncoder
from cordwood.spark.formats.schema_source import AVRO, PROTOBUF_SET, given_schemas

pytestmark = pytest.mark.spark

AVRO_SCHEMAS = given_schemas({1: '"string"'}, AVRO)
PROTOBUF_SCHEMAS = given_schemas({1: b""}, PROTOBUF_SET)


@pytest.mark.parametrize(
    ("module", "use"),
    (
        (FASTAVRO, partial(load_avro, AVRO_SCHEMAS)),
        (FASTAVRO, partial(AvroDecoder, AVRO_SCHEMAS, 1)),
        (FASTAVRO, partial(AvroEncoder, AVRO_SCHEMAS, 1)),
        (PROTOBUF, partial(ProtobufDecoder, PROTOBUF_SCHEMAS, 1)),
        (PROTOBUF, partial(ProtobufEncoder, PROTOBUF_SCHEMAS, 1)),
    ),
)
def test_format_without_its_library_names_its_command(
    module: str, use: Callable[[], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)

    with pytest.raises(SparkError, match=r"cannot be imported.*; pip install '\w+>="):
        use()


@pytest.mark.parametrize("module", (FASTAVRO, PROTOBUF))
def test_installed_library_is_no_error(module: str) -> None:
    ensure_library(module)

"""DataFrame transformations for rows of a log: functions for `DataFrame.transform`.

    log.transform(latest)
    log.transform(decode_avro, "schemas")
    log.transform(decode_avro, "http://registry:8081", reader="orders-value")

They use the columns of the source, so they also work on rows of `format("kafka")`. Where a function
takes `schemas`, these are a folder, texts by their ids, or the address of a schema registry
(`formats.schema_source`, `formats.schema_registry`). A schema is chosen by its id, or by its
subject in a registry.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final, TypeAlias

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import ArrayType, BinaryType, DataType, IntegerType, StringType, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.formats.avro_decoder import AvroDecoder
from cordwood.spark.formats.avro_encoder import AvroEncoder
from cordwood.spark.formats.avro_schemas import load_avro
from cordwood.spark.formats.dead_letters import with_dead_letters
from cordwood.spark.formats.json_schemas import parse_json_schema
from cordwood.spark.formats.protobuf_decoder import ProtobufDecoder
from cordwood.spark.formats.protobuf_encoder import ProtobufEncoder
from cordwood.spark.formats.schema_framing import HEADER_BYTES, frame_header
from cordwood.spark.formats.schema_registry import is_registry, parse_registry
from cordwood.spark.formats.schema_source import (
    AVRO,
    JSON,
    PROTOBUF_SET,
    SchemaSource,
    SchemaTexts,
    given_schemas,
    schemas_in,
)
from cordwood.spark.formats.value_decoder import (
    ADDED,
    ERROR,
    RECORD,
    SCHEMA_ID,
    ValueDecoder,
    decode_batches,
)
from cordwood.spark.formats.value_encoder import ValueEncoder, encode_batches

__all__ = (
    "decode_avro",
    "decode_json",
    "decode_protobuf",
    "encode_avro",
    "encode_json",
    "encode_protobuf",
    "latest",
    "unframed",
    "with_dead_letters",
)

Schemas: TypeAlias = str | Mapping[int, str] | Mapping[int, bytes] | SchemaSource

_CORRUPT: Final = "_corrupt_record"
_VALUES: Final = "values"


def latest(frame: DataFrame) -> DataFrame:
    """Return the last record of each key, unless it is a tombstone, as compaction keeps it.

    Keys are compared within a partition, as in Kafka's log cleaner. Records without a key are
    left out.
    """
    last = F.max_by(F.struct(*frame.columns), "offset").alias("last")
    keyed = frame.where(F.col("key").isNotNull())
    of_each = keyed.groupBy("topic", "partition", "key").agg(last)
    return of_each.select("last.*").where(F.col("value").isNotNull())


def unframed(frame: DataFrame, column: str = "value") -> DataFrame:
    """Add `schema_id` and `payload`, from values in the Confluent wire format.

    Both are null if a value is not in this format: it begins with a zero byte and a positive
    integer of 32 bits.
    """
    _ensure_absent(frame, SCHEMA_ID, "payload")
    value = F.col(column)
    is_framed = (
        (F.length(value) >= HEADER_BYTES)
        & (F.substring(value, 1, 1) == F.lit(b"\0"))
        & (F.substring(value, 2, 1) < F.lit(b"\x80"))
    )
    # In ANSI mode a cast raises for numbers of other values, if Spark computes these too.
    number = F.conv(F.hex(F.substring(value, 2, 4)), 16, 10).try_cast("int")
    payload = F.substring(value, F.lit(HEADER_BYTES + 1), F.length(value) - HEADER_BYTES)
    return frame.withColumns(
        {SCHEMA_ID: F.when(is_framed, number), "payload": F.when(is_framed, payload)}
    )


# -- Avro and Protobuf


def decode_avro(
    frame: DataFrame,
    schemas: Schemas,
    *,
    column: str = "value",
    reader: int | str | None = None,
) -> DataFrame:
    """Add `schema_id`, `record` and `error`, from Avro values in the Confluent wire format.

    A value is decoded with the schema of its id (the writer's schema) and resolved to the schema
    `reader`, by default the highest id of the given schemas. If a value cannot be decoded, `record`
    is null and `error` has the reason.
    """
    source = _source(schemas, AVRO)
    if isinstance(source, SchemaTexts):
        load_avro(source)
    return _decoded(frame, column, partial(AvroDecoder, source, source.id_of(reader)))


def encode_avro(
    frame: DataFrame,
    schemas: Schemas,
    *,
    schema: int | str | None = None,
    record: str = RECORD,
    into: str = "value",
) -> DataFrame:
    """Add or replace the column `into`: records in Avro, in the Confluent wire format.

    If a record does not fit the schema, or the row already has an `error`, the value is null and
    `error` has the reason.
    """
    source = _source(schemas, AVRO)
    return _encoded(frame, record, into, partial(AvroEncoder, source, source.id_of(schema)))


def decode_protobuf(
    frame: DataFrame,
    schemas: Schemas,
    *,
    column: str = "value",
    reader: int | str | None = None,
    message: str | None = None,
) -> DataFrame:
    """Add `schema_id`, `record` and `error`, from Protobuf values in the Confluent wire format.

    Records have the message type `message` of the schema `reader`, by default its first one. If a
    value cannot be decoded, or has another message type, `record` is null and `error` has the
    reason.
    """
    source = _source(schemas, PROTOBUF_SET)
    make = partial(ProtobufDecoder, source, source.id_of(reader), message)
    return _decoded(frame, column, make)


def encode_protobuf(  # tidy: allow[parameters] keyword arguments of a public function
    frame: DataFrame,
    schemas: Schemas,
    *,
    schema: int | str | None = None,
    message: str | None = None,
    record: str = RECORD,
    into: str = "value",
) -> DataFrame:
    """Add or replace the column `into`: records as Protobuf messages, as in `encode_avro`."""
    source = _source(schemas, PROTOBUF_SET)
    make = partial(ProtobufEncoder, source, source.id_of(schema), message)
    return _encoded(frame, record, into, make)


def _decoded(frame: DataFrame, column: str, make: Callable[[], ValueDecoder]) -> DataFrame:
    _ensure_absent(frame, *ADDED)
    record = from_arrow_type(make().record_type)
    wanted = StructType([*frame.schema.fields])
    wanted = wanted.add(SCHEMA_ID, IntegerType()).add(RECORD, record).add(ERROR, StringType())
    return frame.mapInArrow(partial(decode_batches, column, make), wanted)


def _encoded(
    frame: DataFrame, record: str, into: str, make: Callable[[], ValueEncoder]
) -> DataFrame:
    make()  # an unusable schema is an error of the driver
    types: dict[str, DataType] = {each.name: each.dataType for each in frame.schema.fields}
    types |= {into: BinaryType(), ERROR: StringType()}
    wanted = StructType()
    for name, of_column in types.items():
        wanted = wanted.add(name, of_column)
    return frame.mapInArrow(partial(encode_batches, record, into, make), wanted)


# -- JSON


def decode_json(
    frame: DataFrame,
    columns: str | StructType | None = None,
    *,
    schemas: Schemas | None = None,
    reader: int | str | None = None,
    column: str = "value",
) -> DataFrame:
    """Add `record` and `error`, from values in JSON.

    `columns` has the columns of the records, as DDL or a type. With `schemas` the values have the
    Confluent wire format, `schema_id` is added too, and the columns are by default those of the
    JSON Schema `reader`. If a value is not JSON with these columns, `record` is null and `error`
    has the reason.
    """
    if columns is None:
        columns = _json_columns(schemas, reader)
    _ensure_absent(frame, *(ADDED if schemas is not None else (RECORD, ERROR)))
    text, error = F.col(column), F.lit(None).cast("string")
    if schemas is not None:
        frame = unframed(frame, column)
        text = F.col("payload")
        is_without = F.col(column).isNotNull() & F.col(SCHEMA_ID).isNull()
        error = F.when(is_without, F.lit("no schema id"))
    parsed = F.from_json(
        _wrapped(text.cast("string")),
        _wrapped_columns(columns),
        {"columnNameOfCorruptRecord": _CORRUPT},
    )
    frame = frame.withColumn(_CORRUPT, parsed)
    values = F.col(f"{_CORRUPT}.{_VALUES}")
    # Bytes that are not UTF-8 become other characters in a text of Spark. Checked in from_json, the
    # text would be checked without generated code.
    is_good = (
        F.is_valid_utf8(text.cast("string"))
        & F.col(f"{_CORRUPT}.{_CORRUPT}").isNull()
        & (F.size(values) == 1)
    )
    record = F.get(values, 0)
    is_bad = text.isNotNull() & ~F.coalesce(is_good & record.isNotNull(), F.lit(False))  # noqa: FBT003  # a value
    reason = F.concat(
        F.lit("not JSON of these columns: "), F.substring(text.cast("string"), 1, 100)
    )
    error = F.coalesce(error, F.when(is_bad, reason))
    record = F.when(text.isNotNull() & error.isNull(), record)
    return frame.withColumns({RECORD: record, ERROR: error}).drop(_CORRUPT, "payload")


def encode_json(
    frame: DataFrame,
    *,
    record: str = RECORD,
    into: str = "value",
    schemas: Schemas | None = None,
    schema: int | str | None = None,
) -> DataFrame:
    """Add or replace the column `into`: records in JSON, with a schema id if `schemas` are given.

    Fields that are null are left out. A row that already has an `error` has a null value.
    """
    text = F.to_json(F.col(record)).cast("binary")
    if schemas is not None:
        number = _source(schemas, JSON).id_of(schema)
        text = F.concat(F.lit(frame_header(number)), text)
    value = F.when(F.col(record).isNotNull(), text)
    if ERROR in frame.columns:
        value = F.when(F.col(ERROR).isNull(), value)
    return frame.withColumn(into, value)


def _wrapped(text: Column) -> Column:
    """Return a text as the only element of an array in an object.

    from_json ignores what follows its first value: in the array it is another element, or an error.
    """
    return F.concat(F.lit(f'{{"{_VALUES}":['), text, F.lit("]}"))


def _json_columns(schemas: Schemas | None, reader: int | str | None) -> StructType:
    if schemas is None:
        raise SettingError(
            "columns: neither columns nor schemas are given",
            key="columns",
            remedy='write the columns, as "id long, name string"',
        )
    source = _source(schemas, JSON)
    number = source.id_of(reader)
    found = parse_json_schema(source.by_id(number), of=f"schema {number}")
    if not isinstance(found, StructType):
        raise SettingError(
            f"schema {number} is of {found.simpleString()}, not of an object",
            key="schemas",
            remedy="parse the values with Spark's from_json",
        )
    return found


def _wrapped_columns(columns: str | StructType) -> StructType:
    of_each = DataType.fromDDL(columns) if isinstance(columns, str) else columns
    return StructType().add(_VALUES, ArrayType(of_each)).add(_CORRUPT, StringType())


# -- schemas


def _source(schemas: Schemas, kind: str) -> SchemaSource:
    if isinstance(schemas, str):
        return parse_registry(schemas) if is_registry(schemas) else schemas_in(schemas, kind)
    if isinstance(schemas, Mapping):
        return given_schemas(schemas, kind)
    return schemas


def _ensure_absent(frame: DataFrame, *names: str) -> None:
    present = [name for name in names if name in frame.columns]
    if present:
        raise SettingError(
            f"column {present[0]} already exists",
            key=present[0],
            remedy="rename it first, with `withColumnRenamed`",
        )

"""DataFrame transformations for rows of a log: functions for `DataFrame.transform`.

    log.transform(latest)
    log.transform(decode_avro, "schemas")

They use the columns of the source, so they also work on rows of `format("kafka")`.
"""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import IntegerType, StringType, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.avro.avro_decoder import ADDED, ERROR, RECORD, SCHEMA_ID, decode_batches
from cordwood.spark.avro.avro_schemas import arrow_type, load_schemas

_HEADER_BYTES = 5


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
        (F.length(value) >= _HEADER_BYTES)
        & (F.substring(value, 1, 1) == F.lit(b"\0"))
        & (F.substring(value, 2, 1) < F.lit(b"\x80"))
    )
    # In ANSI mode a cast raises for numbers of other values, if Spark computes these too.
    number = F.conv(F.hex(F.substring(value, 2, 4)), 16, 10).try_cast("int")
    payload = F.substring(value, F.lit(_HEADER_BYTES + 1), F.length(value) - _HEADER_BYTES)
    return frame.withColumns(
        {SCHEMA_ID: _when(is_framed, number), "payload": _when(is_framed, payload)}
    )


def decode_avro(
    frame: DataFrame,
    schemas: str | Mapping[int, str],
    *,
    column: str = "value",
    reader: int | None = None,
) -> DataFrame:
    """Add `schema_id`, `record` and `error`, from Avro values in the Confluent wire format.

    `schemas` is a folder with files `<id>.avsc`, or texts by id. A value is decoded with the
    schema of its id (the writer's schema) and resolved to the schema `reader`, by default the
    highest id. If a value cannot be decoded, `record` is null and `error` has the reason.
    """
    _ensure_absent(frame, *ADDED)
    known = load_schemas(schemas)
    chosen = max(known) if reader is None else reader
    if chosen not in known:
        raise SettingError(
            f"reader: schema {chosen} is not among {sorted(known)}",
            key="reader",
            remedy="use one of them, or add the schema",
        )
    record = from_arrow_type(arrow_type(known[chosen], of=f"schema {chosen}"))
    wanted = StructType(
        [
            *frame.schema.fields,
            *StructType()
            .add(SCHEMA_ID, IntegerType())
            .add(RECORD, record)
            .add(ERROR, StringType())
            .fields,
        ]
    )
    return frame.mapInArrow(partial(decode_batches, column, known, chosen), wanted)


def _when(condition: Column, value: Column) -> Column:
    return F.when(condition, value)


def _ensure_absent(frame: DataFrame, *names: str) -> None:
    present = [name for name in names if name in frame.columns]
    if present:
        raise SettingError(
            f"column {present[0]} already exists",
            key=present[0],
            remedy="rename it first, with `withColumnRenamed`",
        )

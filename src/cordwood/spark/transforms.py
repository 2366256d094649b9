"""Steps that rows of a log often take: functions from a DataFrame to a DataFrame.

    log.transform(latest)
    log.transform(decode_avro, "schemas")

They know the columns of the source, and work on those of `format("kafka")` alike.
"""

from collections.abc import Mapping
from functools import partial

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's own name for it
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import IntegerType, StringType, StructType

from cordwood.core.errors import SettingError
from cordwood.spark.avro_decoding import ADDED, ERROR, RECORD, SCHEMA_ID, decode_batches
from cordwood.spark.avro_schemas import arrow_type, schemas_in

_HEADER_BYTES = 5


def latest(frame: DataFrame) -> DataFrame:
    """Return the last record of each key, unless it is a tombstone: what compaction comes to.

    A key is a partition's, as it is to a cleaner. Records without a key are left out.
    """
    last = F.max_by(F.struct(*frame.columns), "offset").alias("last")
    keyed = frame.where(F.col("key").isNotNull())
    of_each = keyed.groupBy("topic", "partition", "key").agg(last)
    return of_each.select("last.*").where(F.col("value").isNotNull())


def unframed(frame: DataFrame, column: str = "value") -> DataFrame:
    """Return rows with `schema_id` and `payload`, of values that begin with a schema's id.

    Both are null where a value does not begin as registries' clients let it begin.
    """
    _ensure_absent(frame, SCHEMA_ID, "payload")
    value = F.col(column)
    is_framed = (F.length(value) >= _HEADER_BYTES) & (F.substring(value, 1, 1) == F.lit(b"\0"))
    number = F.conv(F.hex(F.substring(value, 2, 4)), 16, 10).cast("int")
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
    """Return rows with `schema_id`, `record` and `error`, of values by a registry's client.

    `schemas` is a folder with files `<id>.avsc`, or texts by id. Each value is decoded by the
    schema that it names, and is then what the schema `reader` says, by default the one of the
    highest id. One that cannot be decoded keeps its row: `record` is null, and `error` says why.
    """
    _ensure_absent(frame, *ADDED)
    known = schemas_in(schemas)
    chosen = max(known) if reader is None else reader
    if chosen not in known:
        raise SettingError(
            f"schema {chosen} is not among {sorted(known)}",
            key="reader",
            remedy="name one of them, or add it",
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
    there = [name for name in names if name in frame.columns]
    if there:
        raise SettingError(
            f"there is a column {there[0]} already",
            key=there[0],
            remedy="rename it before, with `withColumnRenamed`",
        )

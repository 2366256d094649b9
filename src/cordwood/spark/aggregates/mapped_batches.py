"""Batches that a user's function yields, checked against the schema that the user declared.

Spark takes the columns of a batch by position, so a column of another name would have the values of
its neighbour.
"""

from collections.abc import Iterator

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_type
from pyspark.sql.types import DataType, StructType

from cordwood.core.errors import SettingError


def with_schema(batches: Iterator[pa.RecordBatch], schema: StructType) -> Iterator[pa.RecordBatch]:
    """Yield the batches with the columns in the order of the schema.

    Raise SettingError for a batch that lacks a column, or has another one or another type.
    """
    checked: pa.Schema | None = None
    for batch in batches:
        if batch.schema is not checked:
            _check(batch, schema)
            checked = batch.schema
        yield batch.select(schema.names)


def _check(batch: pa.RecordBatch, schema: StructType) -> None:
    if not isinstance(batch, pa.RecordBatch):
        raise _wrong(f"{type(batch).__name__} instead of a pyarrow.RecordBatch", schema)
    if sorted(batch.schema.names) != sorted(schema.names):
        raise _wrong(f"a batch with the columns {', '.join(batch.schema.names)}", schema)
    for field in schema.fields:
        given = _spark_type(batch.schema.field(field.name).type)
        if given is None or given.simpleString() != field.dataType.simpleString():
            name = batch.schema.field(field.name).type if given is None else given.simpleString()
            raise _wrong(f"a batch whose column {field.name} has the type {name}", schema)


def _spark_type(arrow: pa.DataType) -> DataType | None:
    """Return Spark's type; None if Spark has none."""
    try:
        return from_arrow_type(arrow, prefer_timestamp_ntz=True)
    except TypeError:  # PySparkTypeError is one
        return None


def _wrong(found: str, schema: StructType) -> SettingError:
    return SettingError(
        f"map_arrow: the function has yielded {found}",
        key="schema",
        remedy=f"yield batches with the columns of the schema: {schema.simpleString()[7:-1]}",
    )

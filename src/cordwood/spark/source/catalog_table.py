"""Options of a table in Spark's catalog (`CREATE TABLE … USING cordwood OPTIONS (…)`).

    CREATE TABLE    the options, with properties of the table that Spark adds
    a query         no options, and the schema as the catalog has stored it

So the schema carries the options, in the metadata of its first column. Options of a query, as in
`SELECT … FROM orders WITH (endingOffsets = '…')`, override them.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.option_arguments import spark_options
from cordwood.spark.source import source_columns

#: The key of the metadata.
STORED: Final = "cordwood.options"
_PROPERTIES: Final = frozenset({"owner", "provider"})
_GIVEN: Final = "option."

_SPARK_TYPES: Final[Mapping[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    source_columns.HEADERS: ArrayType(
        StructType([StructField("key", StringType()), StructField("value", BinaryType())])
    ),
}


def is_created(given: Mapping[str, str]) -> bool:
    """Return whether these are the options and properties of a table that is being created."""
    return given.keys() >= _PROPERTIES


def options_of_user(given: Mapping[str, str]) -> dict[str, str]:
    """Return the options without the properties of a table, and with an absolute path."""
    if not is_created(given):
        return dict(given)
    own = {
        name.removeprefix(_GIVEN): text for name, text in given.items() if name.startswith(_GIVEN)
    }
    return spark_options(None, {**own, **({"path": given["path"]} if "path" in given else {})})


def table_schema(columns: Sequence[str], options: Mapping[str, str]) -> StructType:
    """Return the schema of a table with these columns, which carries the options."""
    first, *others = (StructField(name, _SPARK_TYPES[name]) for name in columns)
    carrier = StructField(first.name, first.dataType, metadata={STORED: dict(options)})
    return StructType([carrier, *others])


def options_of_read(schema: StructType, given: Mapping[str, str]) -> dict[str, str]:
    """Return the options that a schema carries, overridden by those that are given.

    Raise SettingError if there are neither, as for a table that was created with a column list.
    """
    carried = (field.metadata.get(STORED) for field in schema.fields)
    options = {**next(filter(None, carried), {}), **given}
    if not options:
        raise SettingError(
            "path: no option is given",
            key="path",
            remedy="set path or kafka.bootstrap.servers; create a table without a column list,"
            " because Spark stores its options with the columns of the source",
        )
    return options

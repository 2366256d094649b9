"""Dead letters: rows with an error, sent to a topic of their own with the reason.

The headers of a dead letter have the names that Kafka Connect gives them
(`DeadLetterQueueReporter`, with `errors.deadletterqueue.context.headers.enable`).
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812  # Spark's conventional name

from cordwood.core.errors import SettingError
from cordwood.spark.formats.value_decoder import ERROR

_HEADER: Final = "struct<key: string, value: binary>"
#: The header for each column of the source, and for the reason.
_NAMES: Final = {
    "topic": "__connect.errors.topic",
    "partition": "__connect.errors.partition",
    "offset": "__connect.errors.offset",
    ERROR: "__connect.errors.exception.message",
}
_KEPT: Final = ("key", "timestamp")


def with_dead_letters(
    frame: DataFrame, *, topic: str, dead: str, value: str = "value", failed: str = "value"
) -> DataFrame:
    """Return rows for the sink, in which rows with an error have the topic `dead`.

    The value of a row is the column `value`; that of a dead letter is the column `failed`, as it
    came. Rows for both topics are written by one write, so a transaction has both or neither.
    """
    for name in (ERROR, value, failed):
        if name not in frame.columns:
            raise SettingError(
                f"column {name} is missing",
                key=name,
                remedy="decode or encode the rows first, for example with decode_avro",
            )
    is_dead = F.col(ERROR).isNotNull()
    kept = [name for name in _KEPT if name in frame.columns]
    return frame.select(
        F.when(is_dead, F.lit(dead)).otherwise(F.lit(topic)).alias("topic"),
        *kept,
        F.when(is_dead, F.col(failed)).otherwise(F.col(value)).cast("binary").alias("value"),
        _headers(frame, is_dead).alias("headers"),
    )


def _headers(frame: DataFrame, is_dead: Column) -> Column:
    """Return the headers of a row, with the reason and the place of a dead letter added."""
    own = F.lit(None).cast(f"array<{_HEADER}>")
    if "headers" in frame.columns:
        own = F.col("headers")
    added = [
        F.struct(
            F.lit(header).alias("key"), F.col(name).cast("string").cast("binary").alias("value")
        )
        for name, header in _NAMES.items()
        if name in frame.columns
    ]
    all_of_them = F.concat(F.coalesce(own, F.array().cast(f"array<{_HEADER}>")), F.array(*added))
    return F.when(is_dead, all_of_them).otherwise(own)

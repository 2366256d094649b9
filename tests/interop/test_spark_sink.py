"""Rows of the sink in Kafka's broker, read by Kafka's consumer."""

from typing import TYPE_CHECKING, Final

import pytest

from tests.interop.kafka_harness import samples
from tests.interop.kafka_harness.brokers import Broker
from tests.interop.kafka_harness.spec import CODECS, renumbered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.interop, pytest.mark.spark, pytest.mark.timeout(600)]

SENT: Final = renumbered(
    [*samples.plain(), *samples.nulls(), *samples.headers(), *samples.many()], first_offset=0
)
SCHEMA: Final = (
    "place long, time long, key binary, value binary,"
    " headers array<struct<key: string, value: binary>>"
)


@pytest.mark.parametrize("codec", CODECS)
def test_kafka_reads_the_records_of_our_sink(
    spark: "SparkSession", broker43: Broker, codec: str
) -> None:
    topic = f"our-sink-{codec}"
    broker43.create_topics({topic: {}})
    given = [
        (each.offset, each.timestamp, each.key, each.value, list(each.headers)) for each in SENT
    ]
    frame = spark.createDataFrame(given, SCHEMA).coalesce(1).sortWithinPartitions("place")
    where = {"kafka.bootstrap.servers": broker43.bootstrap, "topic": topic}

    rows = frame.selectExpr("timestamp_millis(time) AS timestamp", "key", "value", "headers")
    options = where | {"kafka.compression.type": codec}
    rows.write.format("cordwood").mode("append").options(**options).save()

    assert broker43.oracle.consume(broker43.bootstrap, topic, "read_uncommitted") == SENT

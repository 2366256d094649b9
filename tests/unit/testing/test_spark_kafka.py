"""The fixture `spark_kafka` without a session; `tests/spark` uses it with one."""

from typing import TYPE_CHECKING, cast

from cordwood.testing.kafka_fixture import Kafka
from cordwood.testing.spark_kafka import SparkKafka

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_address_is_the_brokers(kafka: Kafka) -> None:
    spark_kafka = SparkKafka(cast("SparkSession", None), kafka)

    assert spark_kafka.bootstrap == kafka.bootstrap

"""The fixture `spark_kafka` for tests of users: a broker per test, one session."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import cordwood

if TYPE_CHECKING:
    from collections.abc import Callable

    from cordwood.testing.spark_kafka import SparkKafka

PAGE = Path(__file__).parents[2] / "docs" / "testing.md"


def test_fixture_reads_the_records_of_its_broker(spark_kafka: "SparkKafka") -> None:
    with cordwood.Producer(spark_kafka.bootstrap) as producer:
        producer.send("orders", b"3 beams").result()

    rows = spark_kafka.frame("orders").select("offset", "value").collect()

    assert [(row.offset, bytes(row.value)) for row in rows] == [(0, b"3 beams")]


def test_page_shows_a_test_that_passes(spark_kafka: "SparkKafka") -> None:
    (shown,) = re.findall(
        r"^```python spark\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL
    )
    names: dict[str, Callable[..., None]] = {}

    exec(shown, {"cordwood": cordwood}, names)

    (test,) = names.values()
    test(spark_kafka)

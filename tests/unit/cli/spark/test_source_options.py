"""Arguments of the Spark commands become source options."""

import json

from cordwood.cli.spark.source_options import source_options


def test_arguments_become_options() -> None:
    assert source_options(
        ["/logs"], ["gap=record"], topics=["a", "b"], servers=None, format="delta", table=None
    ) == {"paths": json.dumps(["/logs"]), "subscribe": "a,b", "gap": "record", "format": "delta"}


def test_brokers_are_a_sufficient_source() -> None:
    assert source_options([], None, topics=None, servers="localhost:9092") == {
        "kafka.bootstrap.servers": "localhost:9092"
    }

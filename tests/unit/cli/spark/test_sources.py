"""What commands that read by Spark say of where to read."""

import json

from cordwood.cli.spark.sources import options_of


def test_what_is_said_becomes_options() -> None:
    assert options_of(
        ["/logs"], ["gap=record"], topics=["a", "b"], servers=None, format="delta", table=None
    ) == {"paths": json.dumps(["/logs"]), "subscribe": "a,b", "gap": "record", "format": "delta"}


def test_brokers_may_be_all_there_is() -> None:
    assert options_of([], None, topics=None, servers="localhost:9092") == {
        "kafka.bootstrap.servers": "localhost:9092"
    }

"""The client of a sink is kept in its process, and ignores settings of producers."""

from cordwood.spark.sink.exactly_once.sink_client import close_clients, sink_client
from cordwood.testing.kafka_fixture import Kafka


def test_client_is_kept_for_its_sink(kafka: Kafka) -> None:
    config = {"bootstrap.servers": kafka.bootstrap, "linger.ms": "5"}

    first = sink_client(config, sink="s", record_topic="t")
    again = sink_client(config, sink="s", record_topic="t")
    other = sink_client(config, sink="u", record_topic="t")

    assert first is again
    assert first is not other
    close_clients()

"""The client of a sink is kept in its process, and has the settings that every client has."""

from cordwood.spark.sink.exactly_once.sink_client import client_config, close_clients, sink_client
from cordwood.testing.kafka_fixture import Kafka


def test_settings_of_producers_alone_are_left_out() -> None:
    config = {"bootstrap.servers": "b:1", "linger.ms": "5", "client.id": "c"}

    assert client_config(config) == {"bootstrap.servers": "b:1", "client.id": "c"}


def test_client_is_kept_for_its_sink(kafka: Kafka) -> None:
    config = {"bootstrap.servers": kafka.bootstrap}

    first = sink_client(config, sink="s", record_topic="t")
    again = sink_client(config, sink="s", record_topic="t")
    other = sink_client(config, sink="u", record_topic="t")

    assert first is again
    assert first is not other
    close_clients()

"""Tests of the broker embedded in a program."""

import threading
from pathlib import Path

import pytest

import cordwood
from cordwood.broker.process.descriptor_budget import DescriptorBudget
from cordwood.core.errors import InvalidRequestError, LogDirectoryError, SettingError


def test_broker_serves_clients_at_its_address(tmp_path: Path) -> None:
    data = tmp_path / "logs"

    with cordwood.Broker(data) as broker, cordwood.Producer(broker.address) as producer:
        report = producer.send("orders", b"42 logs").result()

    assert (report.topic, report.offset) == ("orders", 0)


def test_broker_keeps_records_for_the_next_one_on_the_same_data(tmp_path: Path) -> None:
    with cordwood.Broker(tmp_path) as broker, cordwood.Producer(broker.address) as producer:
        producer.send("orders", b"42 logs").result()

    with cordwood.Broker(tmp_path) as again, cordwood.Admin(again.address) as admin:
        assert admin.list_topics() == ["orders"]


def test_embedded_broker_accepts_settings_by_kafka_s_names(tmp_path: Path) -> None:
    config = {"num.partitions": 3, "auto.create.topics.enable": False}

    with (
        cordwood.Broker(tmp_path, config=config) as broker,
        cordwood.Admin(broker.address) as admin,
    ):
        admin.create_topic("orders")
        (topic,) = admin.describe_topics(["orders"])

    assert len(topic.partitions) == 3


def test_broker_rejects_an_unknown_setting(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match=r"log\.retention\.ms"):
        cordwood.Broker(tmp_path, config={"log.retenton.ms": "1"}).start()


def test_broker_that_cannot_start_releases_its_resources(tmp_path: Path) -> None:
    threads = threading.active_count()
    with cordwood.Broker(tmp_path), pytest.raises(LogDirectoryError, match="in use"):
        cordwood.Broker(tmp_path).start()

    assert threading.active_count() <= threads


def test_second_start_is_rejected_and_the_broker_continues(tmp_path: Path) -> None:
    with cordwood.Broker(tmp_path) as broker:
        address = broker.address
        with pytest.raises(InvalidRequestError, match="started already"):
            broker.start()

        assert broker.address == address


def test_broker_has_no_address_outside_of_its_block(tmp_path: Path) -> None:
    broker = cordwood.Broker(tmp_path)
    broker.close()

    with pytest.raises(InvalidRequestError, match="not started"):
        _ = broker.address


def test_embedded_broker_accepts_connections_within_the_descriptors_of_its_program(
    tmp_path: Path,
) -> None:
    """They were unlimited, so that idle clients could take the descriptors of the logs."""
    with cordwood.Broker(tmp_path) as broker:
        runtime = broker._runtime  # noqa: SLF001 - the limit is not public

    assert runtime is not None
    assert (runtime.max_open_files, runtime.max_connections) == DescriptorBudget.of_program()


def test_broker_shows_its_address_and_its_data(tmp_path: Path) -> None:
    data = str(tmp_path / "logs")
    broker = cordwood.Broker(data)

    with broker:
        assert repr(broker) == f"<cordwood.Broker at {broker.address}, data in {data!r}>"
    assert repr(broker) == f"<cordwood.Broker not running, data in {data!r}>"


def test_second_broker_of_a_program_on_the_same_data_is_rejected_by_its_cause(
    tmp_path: Path,
) -> None:
    cause = "by another broker of this program; close"
    with cordwood.Broker(tmp_path), pytest.raises(LogDirectoryError, match=cause):
        cordwood.Broker(tmp_path).start()

    with cordwood.Broker(tmp_path) as broker:
        assert broker.address

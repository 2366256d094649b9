"""Which cluster is asked, and how patiently, as the options say it."""

from pathlib import Path

import pytest

from cordwood.cli.connecting import PATIENCE_MS, admin_to, client_config, partitions_there
from cordwood.core.errors import NetworkError, SettingError, UnknownTopicOrPartitionError
from tests.unit.cli.commands import Command


def test_options_are_stronger_than_properties_and_those_than_the_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nacks=1\nclient.id=f\nlinger.ms=9\n")

    config = client_config("b:2", str(file), properties=["client.id=p", "acks=0"], acks="all")

    assert config == {
        "bootstrap.servers": "b:2",
        "default.api.timeout.ms": PATIENCE_MS,
        "acks": "all",
        "client.id": "p",
        "linger.ms": "9",
    }


def test_broker_is_this_machines_unless_somebody_says_otherwise() -> None:
    assert client_config(None, None)["bootstrap.servers"] == "localhost:9092"


def test_unknown_property_is_refused_by_name(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("retrybackoff.ms=1\n")

    with pytest.raises(SettingError, match=r"retrybackoff\.ms"):
        admin_to("127.0.0.1:1", str(file))


def test_cluster_that_is_not_there_is_a_network_error(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("default.api.timeout.ms=1\n")

    with admin_to("127.0.0.1:1", str(file)) as admin, pytest.raises(NetworkError):
        admin.list_topics()


def test_partitions_are_found_with_any_clients_settings(command: Command, bootstrap: str) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    config = {"bootstrap.servers": bootstrap, "isolation.level": "read_committed"}

    assert partitions_there(config, "a") == [("a", 0), ("a", 1)]
    with pytest.raises(UnknownTopicOrPartitionError, match="the cluster has no topic 'b'"):
        partitions_there(config, "b")

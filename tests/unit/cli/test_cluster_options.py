"""Options select the cluster, the client settings and the timeout."""

from pathlib import Path

import pytest

from cordwood.cli.cluster_options import TIMEOUT_MS, client_config, connect_admin, list_partitions
from cordwood.core.errors import NetworkError, SettingError, UnknownTopicOrPartitionError
from tests.unit.cli.commands import Command


def test_options_override_properties_and_properties_the_file(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("bootstrap.servers=a:1\nacks=1\nclient.id=f\nlinger.ms=9\n")

    config = client_config("b:2", str(file), properties=["client.id=p", "acks=0"], acks="all")

    assert config == {
        "bootstrap.servers": "b:2",
        "default.api.timeout.ms": TIMEOUT_MS,
        "acks": "all",
        "client.id": "p",
        "linger.ms": "9",
    }


def test_default_broker_is_on_this_machine() -> None:
    assert client_config(None, None)["bootstrap.servers"] == "localhost:9092"


def test_unknown_property_is_rejected_by_name(tmp_path: Path, bootstrap: str) -> None:
    file = tmp_path / "client.properties"
    file.write_text("retrybackoff.ms=1\n")

    with pytest.raises(SettingError, match=r"retrybackoff\.ms"):
        connect_admin(bootstrap, str(file))


def test_unreachable_cluster_is_a_network_error(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    file.write_text("default.api.timeout.ms=300\n")

    with pytest.raises(NetworkError, match="check --bootstrap-server"):
        connect_admin("127.0.0.1:1", str(file))


def test_partitions_are_listed_with_settings_of_any_client(
    command: Command, bootstrap: str
) -> None:
    command("topics", "create", "--topic", "a", "--partitions=2")
    config = {"bootstrap.servers": bootstrap, "isolation.level": "read_committed"}

    assert list_partitions(config, "a") == [("a", 0), ("a", 1)]
    with pytest.raises(UnknownTopicOrPartitionError, match="topic 'b' does not exist"):
        list_partitions(config, "b")

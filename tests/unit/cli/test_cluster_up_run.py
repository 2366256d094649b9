"""Tests of the processes of a local cluster; `tests/robustness` runs a real one."""

import socket
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from subprocess import PIPE, Popen

import pytest

from cordwood.cli.cluster_up_run import Child, ClusterOptions, broker_command, end_of, run
from cordwood.core.errors import SettingError

FOLDER = Path("/cluster/broker-2")


def options(*settings: str, brokers: int = 3, base_port: int = 9092) -> ClusterOptions:
    return ClusterOptions(
        brokers=brokers,
        data="cluster",
        base_port=base_port,
        zookeeper=None,
        zookeeper_port=0,
        settings=settings,
    )


def settings_of(command: list[str]) -> list[str]:
    return [text for option, text in pairwise(command) if option == "--set"]


def command(given: ClusterOptions) -> list[str]:
    return broker_command(given, FOLDER, number=2, zookeeper="127.0.0.1:2181")


def test_broker_joins_the_cluster_on_the_next_port() -> None:
    found = command(options())

    assert found[:4] == [sys.executable, "-m", "cordwood", "serve"]
    assert found[found.index("--listen") + 1] == "127.0.0.1:9093"
    assert found[found.index("--data") + 1] == "/cluster/broker-2/data"
    assert {"zookeeper.connect=127.0.0.1:2181", "node.id=2"} <= {*settings_of(found)}


def test_three_brokers_have_three_replicas_of_which_two_are_required() -> None:
    assert {
        "default.replication.factor=3",
        "min.insync.replicas=2",
        "offsets.topic.replication.factor=3",
    } <= {*settings_of(command(options(brokers=5)))}


def test_one_broker_requires_one_replica() -> None:
    assert {"default.replication.factor=1", "min.insync.replicas=1"} <= {
        *settings_of(command(options(brokers=1)))
    }


def test_given_settings_override_those_of_the_cluster() -> None:
    found = settings_of(command(options("min.insync.replicas=1", "log.retention.ms=5")))

    assert [each for each in found if each.startswith("min.insync")] == ["min.insync.replicas=1"]
    assert "log.retention.ms=5" in found


def test_free_ports_are_chosen_by_the_brokers() -> None:
    found = command(options(base_port=0))

    assert found[found.index("--listen") + 1] == "127.0.0.1:0"


def test_stopped_child_has_ended(tmp_path: Path) -> None:
    with Popen([sys.executable, "-c", "input()"], stdin=PIPE, text=True) as process:
        child = Child("broker 1", process, tmp_path / "log.txt")

        child.stop()

        assert process.returncode is not None


def test_end_of_a_child_has_the_last_line_of_its_log(tmp_path: Path) -> None:
    log = tmp_path / "log.txt"
    with Popen([sys.executable, "-c", "raise SystemExit(2)"], text=True) as process:
        process.wait()
        child = Child("broker 1", process, log)
        log.touch()
        assert str(end_of(child)) == f"broker 1 has ended with code 2; its log: {log}"

        log.write_text("starts\ncordwood: the package kazoo is not installed\n")

        assert str(end_of(child)).endswith(
            f"{log}, which ends with: cordwood: the package kazoo is not installed"
        )


def test_port_of_another_zookeeper_is_rejected(tmp_path: Path) -> None:
    """The brokers would join the cluster of that server."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(SettingError, match=rf"port {port} .* in use.*--zookeeper"):
            run(replace(options(), data=str(tmp_path), zookeeper_port=port))

    assert not [*tmp_path.iterdir()]

"""Arguments of the Spark commands become source options."""

import json
import socket
from pathlib import Path

import pytest

from cordwood.cli.spark.source_options import check_source, source_options
from cordwood.core.errors import NetworkError, SettingError
from cordwood.spark.source.source_options import parse_options
from tests.unit.workbench.salvage_samples import batch


def test_arguments_become_options() -> None:
    assert source_options(
        ["/logs"], ["gap=record"], topics=["a", "b"], servers=None, format="delta", table=None
    ) == {"paths": json.dumps(["/logs"]), "subscribe": "a,b", "gap": "record", "format": "delta"}


def test_brokers_are_a_sufficient_source() -> None:
    assert source_options([], None, topics=None, servers="localhost:9092") == {
        "kafka.bootstrap.servers": "localhost:9092"
    }


def test_topic_that_no_path_has_is_rejected(tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / f"{0:020}.log").write_bytes(batch(0))
    path = str(tmp_path)

    check_source(parse_options({"path": path, "subscribe": "orders"}))

    with pytest.raises(SettingError, match="topic 'order' does not exist; did you mean orders"):
        check_source(parse_options({"path": path, "subscribe": "order"}))


def test_brokers_that_refuse_the_connection_are_rejected() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
        source = {"kafka.bootstrap.servers": f"127.0.0.1:{port}", "subscribe": "orders"}
        check_source(parse_options(source))

    with pytest.raises(NetworkError, match="connection refused"):
        check_source(parse_options(source))

"""Tests of the command of a ZooKeeper server."""

from pathlib import Path

import pytest

from cordwood.cli.zookeeper_server import server_command, server_config
from cordwood.core.errors import SettingError


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("shutil.which", lambda name: f"/bin/{name}")


@pytest.mark.parametrize("jar", ("zookeeper-3.9.3.jar", "zookeeper.jar"))
def test_server_runs_from_the_first_folder_with_its_jar(jar: str, tmp_path: Path) -> None:
    (tmp_path / "jars").mkdir()
    (tmp_path / "jars" / jar).touch()
    (tmp_path / "empty").mkdir()

    command = server_command(tmp_path / "zoo.cfg", folders=(tmp_path / "empty", tmp_path / "jars"))

    assert command[0] == "/bin/java"
    assert f"{tmp_path}/jars/*" in command
    assert command[-1] == f"{tmp_path}/zoo.cfg"


def test_missing_jars_are_named_with_a_remedy(tmp_path: Path) -> None:
    with pytest.raises(SettingError, match="there is no ZooKeeper on this machine") as raised:
        server_command(tmp_path / "zoo.cfg", folders=(tmp_path,))

    assert "apt install zookeeper" in raised.value.remedy


def test_missing_java_is_named_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)

    with pytest.raises(SettingError, match="Java is not installed"):
        server_command(tmp_path / "zoo.cfg")


def test_server_listens_on_this_machine_alone(tmp_path: Path) -> None:
    config = server_config(folder=tmp_path, port=2181)

    assert "clientPort=2181\nclientPortAddress=127.0.0.1\n" in config
    assert f"dataDir={tmp_path}/data\n" in config

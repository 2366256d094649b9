"""Defaults come from the environment, and then from the configuration file."""

from pathlib import Path

import pytest

from cordwood.cli.client_defaults import ClientDefaults, config_path, parse_config, read_defaults
from cordwood.cli.cluster_options import client_config
from cordwood.core.errors import SettingError

FILE = b"""
bootstrap-server = "f:1"
command-config = "client.properties"
[client]
"linger.ms" = 5
"check.crcs" = false
"""


def test_file_has_client_settings_by_the_names_of_kafka() -> None:
    found = parse_config("/c/config.toml", FILE)

    assert found.settings == {
        "bootstrap.servers": "f:1",
        "linger.ms": "5",
        "check.crcs": "false",
    }
    assert found.command_config == "/c/client.properties"


@pytest.mark.parametrize(
    ("content", "message"),
    (
        (b"bootstrap-servers = 1", "bootstrap-servers is unknown; did you mean bootstrap-server"),
        (b"zzz = 1", "zzz is unknown; known are bootstrap-server, command-config, client"),
        (b"bootstrap-server = 1", "bootstrap-server is not a text"),
        (b"client = 1", "client is not a table"),
        (b"[client]\nsecurity.protocol = 'SSL'", "client.security is a table or a list"),
        (b"=", "is not valid TOML"),
        (b"\xff", "is not valid TOML"),
    ),
)
def test_wrong_file_is_rejected_with_its_path(content: bytes, message: str) -> None:
    with pytest.raises(SettingError, match=rf"^/c/config\.toml: {message}"):
        parse_config("/c/config.toml", content)


def test_file_is_in_the_home_directory_unless_a_variable_names_it() -> None:
    assert config_path({"HOME": "/h"}) == Path("/h/.config/cordwood/config.toml")
    assert config_path({"HOME": "/h", "XDG_CONFIG_HOME": "/x"}) == Path("/x/cordwood/config.toml")
    assert config_path({"HOME": "/h", "CORDWOOD_CONFIG": "/c.toml"}) == Path("/c.toml")


def test_missing_file_is_an_error_only_if_a_variable_names_it(tmp_path: Path) -> None:
    assert read_defaults({"HOME": str(tmp_path)}) == ClientDefaults()
    with pytest.raises(FileNotFoundError):
        read_defaults({"CORDWOOD_CONFIG": str(tmp_path / "none.toml")})


def test_flag_overrides_the_environment_and_that_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "client.properties").write_text("client.id=p\n")
    (tmp_path / "config.toml").write_bytes(FILE)
    monkeypatch.setenv("CORDWOOD_CONFIG", str(tmp_path / "config.toml"))

    assert client_config(None, None)["bootstrap.servers"] == "f:1"
    assert client_config(None, None)["client.id"] == "p"
    monkeypatch.setenv("CORDWOOD_BOOTSTRAP_SERVER", "e:1")
    assert client_config(None, None)["bootstrap.servers"] == "e:1"
    assert client_config("o:1", None)["bootstrap.servers"] == "o:1"
    assert client_config(None, None, properties=["linger.ms=9"])["linger.ms"] == "9"

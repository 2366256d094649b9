"""Defaults of the options that reach a cluster: the environment, then the configuration file.

    CORDWOOD_BOOTSTRAP_SERVER    as --bootstrap-server
    CORDWOOD_CONFIG              the configuration file; ~/.config/cordwood/config.toml by default

    bootstrap-server = "kafka1:9092,kafka2:9092"
    command-config = "client.properties"
    [client]
    "security.protocol" = "SSL"

An unknown key is rejected, since a misspelt one would have no effect.
"""

import tomllib
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError

FILE_VARIABLE: Final = "CORDWOOD_CONFIG"
BOOTSTRAP_VARIABLE: Final = "CORDWOOD_BOOTSTRAP_SERVER"

_BOOTSTRAP: Final = "bootstrap-server"
_COMMAND_CONFIG: Final = "command-config"
_CLIENT: Final = "client"
_KEYS: Final = (_BOOTSTRAP, _COMMAND_CONFIG, _CLIENT)


@dataclass(frozen=True, slots=True)
class ClientDefaults:
    """Client settings by Kafka's names, and the file of further ones (`--command-config`)."""

    settings: Mapping[str, object] = field(default_factory=dict)
    command_config: str | None = None


def config_path(environment: Mapping[str, str]) -> Path:
    """Return the path of the configuration file, whether or not it exists."""
    if environment.get(FILE_VARIABLE):
        return Path(environment[FILE_VARIABLE]).absolute()
    folder = environment.get("XDG_CONFIG_HOME") or Path(environment.get("HOME", "/"), ".config")
    return Path(folder, "cordwood", "config.toml")


def read_defaults(environment: Mapping[str, str]) -> ClientDefaults:
    """Return the defaults; OSError if `CORDWOOD_CONFIG` names a file that cannot be read."""
    path = config_path(environment)
    is_named = bool(environment.get(FILE_VARIABLE))
    content = path.read_bytes() if is_named or path.is_file() else b""
    defaults = parse_config(str(path), content)
    server = environment.get(BOOTSTRAP_VARIABLE)
    if not server:
        return defaults
    return ClientDefaults(
        {**defaults.settings, "bootstrap.servers": server}, defaults.command_config
    )


def parse_config(path: str, content: bytes) -> ClientDefaults:
    """Parse the configuration file; SettingError for an unknown key or a wrong value."""
    try:
        table = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingError(
            f"{path}: is not valid TOML ({error})", key=path, remedy="correct the file"
        ) from None
    _ensure_known(path, table)
    client = table.get(_CLIENT, {})
    texts = {key: table[key] for key in (_BOOTSTRAP, _COMMAND_CONFIG) if key in table}
    for key, value in texts.items():
        _ensure(isinstance(value, str), path, f"{key} is not a text", 'write it as "..."')
    _ensure(isinstance(client, dict), path, "client is not a table", "begin it with [client]")
    for key, value in client.items():
        _ensure(
            isinstance(value, str | int | float),
            path,
            f"client.{key} is a table or a list",
            'quote a name with dots: "security.protocol" = "SSL"',
        )
    settings = {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in client.items()
    }
    if _BOOTSTRAP in texts:
        settings["bootstrap.servers"] = texts[_BOOTSTRAP]
    given = texts.get(_COMMAND_CONFIG)
    # A relative path is relative to the configuration file.
    return ClientDefaults(settings, None if given is None else str(Path(path).parent / given))


def _ensure_known(path: str, keys: Collection[str]) -> None:
    for key in keys:
        near = get_close_matches(key, _KEYS, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(_KEYS)}"
        _ensure(key in _KEYS, path, f"{key} is unknown", hint)


def _ensure(is_true: bool, path: str, problem: str, remedy: str) -> None:  # noqa: FBT001  # as `assert`
    if not is_true:
        raise SettingError(f"{path}: {problem}", key=path, remedy=remedy)

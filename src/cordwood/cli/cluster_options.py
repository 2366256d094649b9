"""Options for reaching a cluster, shared by commands, and the client settings made of them.

Single settings override the file of settings, and options with a name of their own override both.
All of them override the environment, and that the configuration file (`cli.client_defaults`).
By default a command times out after ten seconds; a client in a program waits a minute. A command
whose bootstrap brokers all refuse the connection ends at once.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server",
        "-b",
        metavar="HOST:PORT",
        help=(
            "Bootstrap brokers, separated by commas.  [env: CORDWOOD_BOOTSTRAP_SERVER]"
            "  [default: localhost:9092]"
        ),
    ),
]
CommandConfig = Annotated[
    str | None, typer.Option(metavar="FILE", help="Properties file with client settings.")
]
CommandProperty = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="Set one client setting. Repeatable."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]

DEFAULT_BROKER: Final = "localhost:9092"
TIMEOUT_MS: Final = 10_000
_BOOTSTRAP: Final = "bootstrap.servers"


def client_config(
    bootstrap_server: str | None,
    command_config: str | None,
    *,
    properties: Sequence[str] | None = None,
    **named: object,
) -> dict[str, object]:
    """Return client settings by Kafka's names; keys of `named` have underscores for dots."""
    from cordwood.cli.client_defaults import read_defaults  # noqa: PLC0415  # help needs none of it
    from cordwood.core.properties import parse_properties  # noqa: PLC0415  # as above

    defaults = read_defaults(os.environ)
    command_config = defaults.command_config if command_config is None else command_config
    config: dict[str, object] = {
        _BOOTSTRAP: DEFAULT_BROKER,
        "default.api.timeout.ms": TIMEOUT_MS,
        **defaults.settings,
    }
    if command_config is not None:
        config |= parse_properties(Path(absolute_path(command_config)).read_bytes())
    config |= parse_pairs(properties)
    if bootstrap_server is not None:
        config[_BOOTSTRAP] = bootstrap_server
    return config | {
        name.replace("_", "."): value for name, value in named.items() if value is not None
    }


def reachable_config(
    bootstrap_server: str | None,
    command_config: str | None,
    *,
    properties: Sequence[str] | None = None,
    **named: object,
) -> dict[str, object]:
    """Return client settings as `client_config`; NetworkError if no bootstrap broker listens."""
    from cordwood.cli.bootstrap_check import ensure_listening  # noqa: PLC0415  # help needs none of it

    config = client_config(bootstrap_server, command_config, properties=properties, **named)
    ensure_listening(str(config[_BOOTSTRAP]))
    return config


def connect_admin(bootstrap_server: str | None, command_config: str | None) -> "Admin":
    """Return an admin client of the cluster."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it

    return Admin.from_config(reachable_config(bootstrap_server, command_config))


def ensure_topics(admin: "Admin", names: Iterable[str]) -> None:
    """Raise UnknownTopicOrPartitionError for a topic that the cluster does not have.

    A client would instead wait for the topic to appear.
    """
    from cordwood.core.errors import UnknownTopicOrPartitionError  # noqa: PLC0415  # as above

    known = set(admin.list_topics(with_internal=True))
    for name in names:
        if name not in known:
            raise UnknownTopicOrPartitionError(
                f"topic {name!r} does not exist; `cordwood topics list` prints the existing ones"
            )


def list_partitions(config: Mapping[str, object], topic: str) -> list[tuple[str, int]]:
    """Return the partitions of a topic; `config` may contain settings of any client."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it
    from cordwood.client.settings import shared_options  # noqa: PLC0415  # as above

    with Admin.from_config(shared_options(config)) as admin:
        ensure_topics(admin, [topic])
        (description,) = admin.describe_topics([topic])
    return [(topic, each.partition) for each in description.partitions]

"""Options for reaching a cluster, shared by commands, and the client settings made of them.

Single settings override the file of settings, and options with a name of their own override both.
By default a command times out after ten seconds; a client in a program waits a minute.
"""

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
        metavar="HOST:PORT",
        help="Bootstrap brokers, separated by commas.  [default: localhost:9092]",
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


def client_config(
    bootstrap_server: str | None,
    command_config: str | None,
    *,
    properties: Sequence[str] | None = None,
    **named: object,
) -> dict[str, object]:
    """Return client settings by Kafka's names; keys of `named` have underscores for dots."""
    from cordwood.core.properties import parse_properties  # noqa: PLC0415  # help needs none of it

    config: dict[str, object] = {
        "bootstrap.servers": DEFAULT_BROKER,
        "default.api.timeout.ms": TIMEOUT_MS,
    }
    if command_config is not None:
        config |= parse_properties(Path(absolute_path(command_config)).read_bytes())
    config |= parse_pairs(properties)
    if bootstrap_server is not None:
        config["bootstrap.servers"] = bootstrap_server
    return config | {
        name.replace("_", "."): value for name, value in named.items() if value is not None
    }


def connect_admin(bootstrap_server: str | None, command_config: str | None) -> "Admin":
    """Return an admin client of the cluster."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it

    return Admin.from_config(client_config(bootstrap_server, command_config))


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

"""How commands reach a cluster: the options that they share, and what the clients are told.

A file of settings gives way to single settings, and those to options that have a name of their own.
Where nobody says otherwise a command gives up after ten seconds, not after a minute as a program.
"""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin

BootstrapServer = Annotated[
    str | None,
    typer.Option(
        metavar="HOST:PORT", help="Brokers to begin with, commas between.  [localhost:9092]"
    ),
]
CommandConfig = Annotated[
    str | None, typer.Option(metavar="FILE", help="Settings of the client, by Kafka's names.")
]
CommandProperty = Annotated[
    list[str] | None,
    typer.Option(metavar="NAME=VALUE", help="One setting of the client; may come again."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]

BROKER: Final = "localhost:9092"
PATIENCE_MS: Final = 10_000


def client_config(
    bootstrap_server: str | None,
    command_config: str | None,
    *,
    properties: Sequence[str] | None = None,
    **named: object,
) -> dict[str, object]:
    """Return a client's settings by Kafka's names, in which those of `named` have underscores."""
    from cordwood.core.properties import parse_properties  # noqa: PLC0415  # help needs none of it

    config: dict[str, object] = {
        "bootstrap.servers": BROKER,
        "default.api.timeout.ms": PATIENCE_MS,
    }
    if command_config is not None:
        config |= parse_properties(Path(absolute(command_config)).read_bytes())
    config |= pairs_in(properties)
    if bootstrap_server is not None:
        config["bootstrap.servers"] = bootstrap_server
    return config | {
        name.replace("_", "."): value for name, value in named.items() if value is not None
    }


def admin_to(bootstrap_server: str | None, command_config: str | None) -> "Admin":
    """Return a client that asks the cluster."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it

    return Admin.from_config(client_config(bootstrap_server, command_config))


def ensure_topics(admin: "Admin", names: Iterable[str]) -> None:
    """Refuse what the cluster does not have, at once: a client would wait for it to appear."""
    from cordwood.core.errors import UnknownTopicOrPartitionError  # noqa: PLC0415  # as above

    known = set(admin.list_topics(with_internal=True))
    for name in names:
        if name not in known:
            raise UnknownTopicOrPartitionError(
                f"the cluster has no topic {name!r}; `cordwood topics list` shows what it has"
            )


def partitions_there(config: Mapping[str, object], topic: str) -> list[tuple[str, int]]:
    """Return the partitions that a topic has; `config` may be any client's."""
    from cordwood.client.blocking import Admin  # noqa: PLC0415  # help needs none of it
    from cordwood.client.settings import shared_options  # noqa: PLC0415  # as above

    with Admin.from_config(shared_options(config)) as admin:
        ensure_topics(admin, [topic])
        (told,) = admin.describe_topics([topic])
    return [(topic, each.partition) for each in told.partitions]

"""`cordwood configs`: the settings of topics, of brokers and of their loggers."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.connecting import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    admin_to,
    ensure_topics,
)
from cordwood.cli.output import say
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute

if TYPE_CHECKING:
    from cordwood.client.blocking import Admin
    from cordwood.client.described import ConfigDescription, ConfigEntry

app = typer.Typer(help="Look at settings, and change them.", no_args_is_help=True)


class EntityType(StrEnum):
    """What has settings."""

    TOPICS = "topics"
    BROKERS = "brokers"
    LOGGERS = "broker-loggers"


_RESOURCES: Final = {
    EntityType.TOPICS: "topic",
    EntityType.BROKERS: "broker",
    EntityType.LOGGERS: "broker_logger",
}
#: What an operator has set while brokers run, or may set: the rest is what it would be anyway.
_DYNAMIC: Final = ("topic", "broker", "all brokers", "logger")
#: Commas between settings; inside of square brackets they are part of a value.
_COMMA: Final = re.compile(r",(?![^\[\]]*\])")

Type = Annotated[EntityType, typer.Option("--entity-type", help="What has the settings.")]
Name = Annotated[
    str | None, typer.Option("--entity-name", help="The topic's name, or the broker's id.")
]
Default = Annotated[
    bool, typer.Option("--entity-default", help="What holds for all brokers together.")
]
All = Annotated[bool, typer.Option("--all", help="Those too that nobody has set.")]
Add = Annotated[
    str | None,
    typer.Option(metavar="K1=V1,K2=[V2,V3]", help="Settings to change, commas between."),
]
AddFile = Annotated[str | None, typer.Option(metavar="FILE", help="The same, from a file.")]
Delete = Annotated[
    str | None, typer.Option(metavar="K1,K2", help="Settings that get their default again.")
]


@app.command(
    epilog="Example: cordwood configs describe --entity-type topics --entity-name orders --all"
)
def describe(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    *,
    entity_type: Type,
    entity_name: Name = None,
    entity_default: Default = False,
    show_all: All = False,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print settings: those that somebody has set, or all."""
    with admin_to(bootstrap_server, command_config) as admin:
        if entity_name is None and not entity_default:
            resources = _all_of(admin, entity_type)
        else:
            resources = [_resource(admin, entity_type, entity_name, is_default=entity_default)]
        found = [admin.describe_configs(each) for each in resources]
    shown = [(each, _chosen(each.entries.values(), show_all=show_all)) for each in found]
    if as_json:
        say(json.dumps({"resources": [_object(*each) for each in shown]}))
        return
    for each, entries in shown:
        say("\n".join((_title(each.resource_type, each.name), *map(_line, entries))))


def _chosen(entries: Iterable["ConfigEntry"], *, show_all: bool) -> list["ConfigEntry"]:
    return [each for each in entries if show_all or each.source in _DYNAMIC]


def _object(told: "ConfigDescription", entries: list["ConfigEntry"]) -> dict[str, object]:
    return {
        "resource_type": told.resource_type,
        "name": told.name,
        "entries": [asdict(each) for each in entries],
    }


def _line(entry: "ConfigEntry") -> str:
    value = "(hidden)" if entry.is_sensitive else entry.value
    return f"  {entry.name} = {value} ({entry.source})"


def _title(resource_type: str, name: str) -> str:
    kind = resource_type.replace("_", " ")
    return f"{kind} {name}" if name else f"all {kind}s"


@app.command(
    epilog="Example: cordwood configs alter --entity-type topics --entity-name orders"
    " --add-config retention.ms=3600000,cleanup.policy=[compact,delete] --delete-config segment.ms"
)
def alter(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's
    *,
    entity_type: Type,
    entity_name: Name = None,
    entity_default: Default = False,
    add_config: Add = None,
    add_config_file: AddFile = None,
    delete_config: Delete = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
) -> None:
    """Change settings, or let them have their defaults again."""
    change = _added(add_config, add_config_file)
    reset = [each.strip() for each in (delete_config or "").split(",") if each.strip()]
    if not change and not reset:
        raise typer.BadParameter("say what: --add-config, --add-config-file or --delete-config")
    with admin_to(bootstrap_server, command_config) as admin:
        resource = _resource(admin, entity_type, entity_name, is_default=entity_default)
        admin.alter_configs(resource, change=change, reset=reset)
    told = [f"{name} = {value}" for name, value in change.items()]
    told += [f"{name} as by default" for name in reset]
    say(f"{_title(*resource)}: {', '.join(told)}")


def _added(text: str | None, path: str | None) -> dict[str, str]:
    from cordwood.core.properties import parse_properties  # noqa: PLC0415  # help needs none of it

    from_file = {} if path is None else parse_properties(Path(absolute(path)).read_bytes())
    return from_file | changes_in(text or "")


def changes_in(text: str) -> dict[str, str]:
    """Read K1=V1,K2=[V2,V3]."""
    pairs = pairs_in(each.strip() for each in _COMMA.split(text) if each.strip())
    return {name.strip(): _unbracketed(value.strip()) for name, value in pairs.items()}


def _unbracketed(value: str) -> str:
    return value[1:-1] if value.startswith("[") and value.endswith("]") else value


def _resource(
    admin: "Admin", entity_type: EntityType, name: str | None, *, is_default: bool
) -> tuple[str, str]:
    """Return what is meant; brokers alone have settings for all of them together."""
    if is_default == (name is not None):
        raise typer.BadParameter("give --entity-name, or --entity-default for all brokers")
    if is_default and entity_type is not EntityType.BROKERS:
        raise typer.BadParameter(f"--entity-default is for brokers, not for {entity_type.value}")
    if entity_type is EntityType.TOPICS:
        ensure_topics(admin, [name or ""])
    return _RESOURCES[entity_type], name or ""


def _all_of(admin: "Admin", entity_type: EntityType) -> list[tuple[str, str]]:
    kind = _RESOURCES[entity_type]
    if entity_type is EntityType.TOPICS:
        return [(kind, name) for name in admin.list_topics(with_internal=True)]
    return [(kind, str(each.node_id)) for each in admin.describe_cluster().brokers]

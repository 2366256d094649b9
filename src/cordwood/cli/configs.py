"""`cordwood configs`: settings of topics, groups, brokers, loggers (Kafka: `ConfigCommand`)."""

import json
import re
from collections.abc import Iterable
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    connect_admin,
    ensure_topics,
)
from cordwood.cli.terminal import print_output

if TYPE_CHECKING:
    from cordwood.client.admin.admin_types import ConfigDescription, ConfigEntry
    from cordwood.client.blocking import Admin

app = typer.Typer(
    help="Describe and alter settings of topics, groups, brokers and loggers.",
    no_args_is_help=True,
)


class EntityType(StrEnum):
    """The kinds of entities that have settings."""

    TOPICS = "topics"
    GROUPS = "groups"
    BROKERS = "brokers"
    LOGGERS = "broker-loggers"


_RESOURCES: Final = {
    EntityType.TOPICS: "topic",
    EntityType.GROUPS: "group",
    EntityType.BROKERS: "broker",
    EntityType.LOGGERS: "broker_logger",
}
#: Sources that an operator can change at runtime; values of other sources are defaults.
_DYNAMIC: Final = ("topic", "group", "broker", "all brokers", "logger")
_INHERITED: Final = "all brokers"
#: Commas between settings; a comma in square brackets is part of a value.
_COMMA: Final = re.compile(r",(?![^\[\]]*\])")

Type = Annotated[EntityType, typer.Option("--entity-type", help="Type of the entity.")]
Name = Annotated[
    str | None,
    typer.Option("--entity-name", help="Topic name, group id, or broker id.  [default: all]"),
]
Default = Annotated[bool, typer.Option("--entity-default", help="Use the defaults of all brokers.")]
All = Annotated[bool, typer.Option("--all", help="Print default values too.")]
Add = Annotated[
    str | None,
    typer.Option(metavar="K1=V1,K2=[V2,V3]", help="Set these settings."),
]
AddFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Set the settings of this properties file.")
]
Delete = Annotated[
    str | None, typer.Option(metavar="K1,K2", help="Reset these settings to their defaults.")
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
    """Print settings: those that were changed, or all."""
    with connect_admin(bootstrap_server, command_config) as admin:
        if entity_name is None and not entity_default:
            resources = _list_resources(admin, entity_type)
        else:
            resources = [_resource(admin, entity_type, entity_name, is_default=entity_default)]
        found = [admin.describe_configs(each) for each in resources]
    shown = [(each, _select(each.entries.values(), show_all=show_all)) for each in found]
    if as_json:
        print_output(json.dumps({"resources": [_object(*each) for each in shown]}))
        return
    for each, entries in shown:
        print_output("\n".join((_title(each.resource_type, each.name), *map(_line, entries))))


def _select(entries: Iterable["ConfigEntry"], *, show_all: bool) -> list["ConfigEntry"]:
    return [each for each in entries if show_all or _is_changed(each)]


def _is_changed(entry: "ConfigEntry") -> bool:
    """Return whether a setting is set at runtime; a new cluster sets some to their defaults."""
    is_default = any(
        each.source == "default" and each.value == entry.value for each in entry.synonyms
    )
    return entry.source in _DYNAMIC and not (is_default and entry.source == _INHERITED)


def _object(described: "ConfigDescription", entries: list["ConfigEntry"]) -> dict[str, object]:
    return {
        "resource_type": described.resource_type,
        "name": described.name,
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
    """Set settings, or reset them to their defaults."""
    change = _parse_added(add_config, add_config_file)
    reset = [each.strip() for each in (delete_config or "").split(",") if each.strip()]
    if not change and not reset:
        raise typer.BadParameter(
            "no change is given; use --add-config, --add-config-file or --delete-config"
        )
    with connect_admin(bootstrap_server, command_config) as admin:
        resource = _resource(admin, entity_type, entity_name, is_default=entity_default)
        admin.alter_configs(resource, change=change, reset=reset)
    texts = [f"{name} = {value}" for name, value in change.items()]
    texts += [f"{name} reset to default" for name in reset]
    print_output(f"{_title(*resource)}: {', '.join(texts)}")


def _parse_added(text: str | None, path: str | None) -> dict[str, str]:
    from cordwood.core.properties import parse_properties  # noqa: PLC0415  # help needs none of it

    from_file = {} if path is None else parse_properties(Path(absolute_path(path)).read_bytes())
    return from_file | parse_changes(text or "")


def parse_changes(text: str) -> dict[str, str]:
    """Parse `K1=V1,K2=[V2,V3]`."""
    pairs = parse_pairs(each.strip() for each in _COMMA.split(text) if each.strip())
    return {name.strip(): _strip_brackets(value.strip()) for name, value in pairs.items()}


def _strip_brackets(value: str) -> str:
    return value[1:-1] if value.startswith("[") and value.endswith("]") else value


def _resource(
    admin: "Admin", entity_type: EntityType, name: str | None, *, is_default: bool
) -> tuple[str, str]:
    """Return the resource that the options name; only brokers have cluster-wide defaults."""
    if is_default == (name is not None):
        raise typer.BadParameter("give either --entity-name, or --entity-default for all brokers")
    if is_default and entity_type is not EntityType.BROKERS:
        raise typer.BadParameter(
            f"--entity-default works for brokers only, not for {entity_type.value}"
        )
    if entity_type is EntityType.TOPICS:
        ensure_topics(admin, [name or ""])
    return _RESOURCES[entity_type], name or ""


def _list_resources(admin: "Admin", entity_type: EntityType) -> list[tuple[str, str]]:
    kind = _RESOURCES[entity_type]
    if entity_type is EntityType.TOPICS:
        return [(kind, name) for name in admin.list_topics(with_internal=True)]
    if entity_type is EntityType.GROUPS:
        return [(kind, name) for name in admin.list_config_resources(kind)]
    return [(kind, str(each.node_id)) for each in admin.describe_cluster().brokers]

"""Options with the settings of topics, for commands over log files without a broker."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs

if TYPE_CHECKING:
    from cordwood.core.ports import Files
    from cordwood.workbench.topic_settings_lookup import SettingsFinder

Config = Annotated[
    list[str] | None,
    typer.Option("--config", metavar="NAME=VALUE", help="Set one topic setting. Repeatable."),
]
BrokerConfig = Annotated[
    str | None, typer.Option(metavar="FILE", help="Read broker defaults from server.properties.")
]


def settings_finder(
    files: "Files", *, config: Iterable[str] | None, broker_config: str | None
) -> "SettingsFinder":
    """Return the lookup of topic settings; settings given as options come first."""
    from cordwood.workbench.topic_settings_lookup import SettingsFinder  # noqa: PLC0415  # help needs none

    return SettingsFinder(
        files,
        given=parse_pairs(config),
        broker_config=None if broker_config is None else absolute_path(broker_config),
    )

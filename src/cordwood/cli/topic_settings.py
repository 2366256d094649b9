"""How a command is given the settings of topics, for logs beside which there is nobody to ask."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute

if TYPE_CHECKING:
    from cordwood.core.ports import Files
    from cordwood.workbench.settings_found import SettingsFinder

Config = Annotated[
    list[str] | None, typer.Option("--config", help="NAME=VALUE of the topic; may come again.")
]
BrokerConfig = Annotated[str | None, typer.Option(help="The broker's server.properties.")]


def finder_of(
    files: "Files", *, config: Iterable[str] | None, broker_config: str | None
) -> "SettingsFinder":
    """Return who finds the settings of topics, where they are not given."""
    from cordwood.workbench.settings_found import SettingsFinder  # noqa: PLC0415  # help needs none

    return SettingsFinder(
        files,
        given=pairs_in(config),
        broker_config=None if broker_config is None else absolute(broker_config),
    )

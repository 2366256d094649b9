"""`cordwood groups describe`: offsets with their lag, members, or states of groups.

`cli.groups.describe_run` reads them.
"""

from typing import Annotated, Final

import typer

from cordwood.cli.cluster_options import AsJson, BootstrapServer, CommandConfig, reachable_config
from cordwood.cli.groups.group_options import AllGroups, GroupArguments, Groups, Timeout
from cordwood.cli.groups.group_selection import given_groups
from cordwood.cli.row_output import print_rows
from cordwood.cli.terminal import print_message

EXAMPLE: Final = "Example: cordwood groups describe billing"

Offsets = Annotated[
    bool, typer.Option("--offsets", help="Print committed offsets and lag (default).")
]
Members = Annotated[bool, typer.Option("--members", help="Print members.")]
State = Annotated[bool, typer.Option("--state", help="Print states and coordinators.")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Print epochs and assignments too.")]


def describe(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    groups: GroupArguments = None,
    *,
    group: Groups = None,
    all_groups: AllGroups = False,
    offsets: Offsets = False,
    members: Members = False,
    state: State = False,
    verbose: Verbose = False,
    timeout: Timeout = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the committed offsets of groups with their lag, or members, or states."""
    from cordwood.cli.groups import describe_run  # noqa: PLC0415  # help needs none of it

    selected = given_groups(groups, group, is_all=all_groups)
    if offsets + members + state > 1:
        raise typer.BadParameter("give one of --offsets, --members and --state")
    read = describe_run.describe_offsets
    if members:
        read = describe_run.describe_members
    elif state:
        read = describe_run.describe_states
    config = reachable_config(bootstrap_server, command_config, default_api_timeout_ms=timeout)
    found, missing = describe_run.existing_groups(config, selected)
    if found or all_groups:
        print_rows(read(config, found, is_verbose=verbose), as_json=as_json)
    for each in missing:
        print_message(f"cordwood: {each}")
    if missing:
        raise typer.Exit(1)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(describe)

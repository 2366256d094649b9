"""Options that the commands about groups share (Kafka: `ConsumerGroupCommandOptions`)."""

from typing import Annotated

import typer

GroupArguments = Annotated[
    list[str] | None, typer.Argument(metavar="GROUP", help="Group ids, instead of --group.")
]
Groups = Annotated[list[str] | None, typer.Option("--group", help="Group id. Repeatable.")]
AllGroups = Annotated[bool, typer.Option("--all-groups", help="Select all groups.")]
Timeout = Annotated[
    int | None,
    typer.Option("--timeout", min=1, help="Timeout of a call in ms.  [default: 10000]"),
]

"""`cordwood groups`: groups, their members and offsets (Kafka: `ConsumerGroupCommand`).

A module per command; `describe_run` and `reset_run` do the work of the two larger ones. The
decision of a reset is in `offset_reset`, which reads nothing.
"""

import typer

from cordwood.cli.groups import delete, describe, list_groups, reset_offsets

app = typer.Typer(
    help="List and describe groups, reset their offsets, and delete them.", no_args_is_help=True
)
list_groups.add_to(app)
describe.add_to(app)
reset_offsets.add_to(app)
delete.add_to(app)

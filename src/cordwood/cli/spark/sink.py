"""`cordwood spark sink`: the transactions that a query with an exactly-once sink has left."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    client_config,
    connect_admin,
)
from cordwood.cli.row_output import Row, print_rows

if TYPE_CHECKING:
    from cordwood.spark.sink.exactly_once.sink_names import SinkNames
    from cordwood.spark.sink.exactly_once.sink_status import SinkStatus

app = typer.Typer(
    help="Show and clear the transactions of an exactly-once sink.", no_args_is_help=True
)

_TITLES: Final = ("Transaction", "State", "OpenSince", "Partitions")

Sink = Annotated[
    str | None,
    typer.Option("--sink", metavar="NAME", help="Name of the sink: its transactionalIdPrefix."),
]
Checkpoint = Annotated[
    str | None,
    typer.Option("--checkpoint", metavar="DIR", help="Checkpoint of the query, instead of a name."),
]


@app.command(epilog="Example: cordwood spark sink status --checkpoint checkpoints/orders")
def status(
    *,
    sink: Sink = None,
    checkpoint: Checkpoint = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Print the last decided batch of a sink, and its open transactions."""
    names = _names(sink, checkpoint)
    print_rows(
        _rows(names, _status(names, bootstrap_server, command_config)),
        as_json=as_json,
        titles=_TITLES,
    )


@app.command(epilog="Example: cordwood spark sink abort --sink cordwood-orders")
def abort(
    *,
    sink: Sink = None,
    checkpoint: Checkpoint = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Commit what a decided batch has left open, and abort all other transactions of a sink.

    A query that still runs with the sink fails: stop it first.
    """
    from cordwood.spark.sink.exactly_once.sink_status import settle_sink  # noqa: PLC0415  # help needs none of it

    names = _names(sink, checkpoint)
    before = _status(names, bootstrap_server, command_config)
    config = client_config(bootstrap_server, command_config)
    settle_sink(config, names, record_topic=before.record_topic)
    print_rows(
        _rows(names, _status(names, bootstrap_server, command_config)),
        as_json=as_json,
        titles=_TITLES,
    )


def _names(sink: str | None, checkpoint: str | None) -> "SinkNames":
    from cordwood.core.errors import SettingError  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.sink.exactly_once.sink_identity import sink_of_checkpoint  # noqa: PLC0415  # as above
    from cordwood.spark.sink.exactly_once.sink_names import SinkNames  # noqa: PLC0415  # as above

    if (sink is None) == (checkpoint is None):
        raise SettingError(
            "the sink is not named", key="sink", remedy="give either --sink or --checkpoint"
        )
    if checkpoint is not None:
        return sink_of_checkpoint(absolute_path(checkpoint))
    return SinkNames(sink or "")


def _status(names: "SinkNames", server: str | None, config: str | None) -> "SinkStatus":
    from cordwood.spark.sink.exactly_once.sink_status import sink_status  # noqa: PLC0415  # help needs none of it

    with connect_admin(server, config) as admin:
        return sink_status(admin, names)


def _rows(names: "SinkNames", found: "SinkStatus") -> list[Row]:
    """Return a row for the record, and one for each open transaction."""
    record = found.record
    rows: list[Row] = []
    if record is not None:
        what = "withdrawn" if record.is_withdrawn else "decided"
        written = sum(each.rows for each in record.slots)
        rows.append(
            {
                "Transaction": names.group,
                "State": f"batch {record.batch} {what}, {written} rows",
                "OpenSince": None,
                "Partitions": found.record_topic,
            }
        )
    rows += [
        {
            "Transaction": each.transactional_id,
            "State": "decided, not committed" if each.is_decided else "not decided",
            "OpenSince": None if each.start_ms is None else _time_of(each.start_ms),
            "Partitions": ",".join(each.partitions),
        }
        for each in found.transactions
    ]
    return rows


def _time_of(when_ms: int) -> str:
    return datetime.fromtimestamp(when_ms / 1000, UTC).isoformat(timespec="seconds")

"""`cordwood log verify` and `cordwood log stat`: whole partitions and log directories."""

from typing import Annotated

import typer

from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import say
from cordwood.cli.paths import absolute
from cordwood.cli.progress import progress
from cordwood.cli.topic_settings import BrokerConfig, Config, finder_of
from cordwood.cli.warming import log_bytes, warm_for

Paths = Annotated[
    list[str], typer.Argument(help="Log directories, partitions, or files of segments.")
]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Deep = Annotated[bool, typer.Option("--deep", help="Read the records too, not only headers.")]


def verify(
    paths: Paths,
    *,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: Json = False,
) -> None:
    """Check every checksum, record, index and snapshot; exit with 1 if something is wrong."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import sweeper  # noqa: PLC0415  # as above
    from cordwood.workbench import verify as verifying  # noqa: PLC0415  # as above

    places, files = [absolute(path) for path in paths], SystemFiles()
    settings = finder_of(files, config=config, broker_config=broker_config)
    size = log_bytes(places)
    warm_for(size)
    with progress(size) as tell:
        found = verifying.verify(files, places, settings=settings, sweeper=sweeper(), tell=tell)
    say(found.to_json() if as_json else str(found))
    if found.is_damaged:
        raise typer.Exit(FOUND_WRONG)


def stat(paths: Paths, *, deep: Deep = False, as_json: Json = False) -> None:
    """Count batches, records, bytes, codecs, producers and transactions."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import sweeper  # noqa: PLC0415  # as above
    from cordwood.workbench import stat as counting  # noqa: PLC0415  # as above

    places = [absolute(path) for path in paths]
    size = log_bytes(places)
    warm_for(size)
    with progress(size) as tell:
        found = counting.stat(SystemFiles(), places, is_deep=deep, sweeper=sweeper(), tell=tell)
    say(found.to_json() if as_json else str(found))


def add_to(app: typer.Typer) -> None:
    """Make the commands part of a family."""
    app.command(epilog="Example: cordwood log verify logs/orders-0")(verify)
    app.command(epilog="Example: cordwood log stat logs --deep --json")(stat)

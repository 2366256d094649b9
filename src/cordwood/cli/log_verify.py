"""`cordwood log verify` and `cordwood log stat`: checks and statistics of whole partitions."""

from typing import Annotated

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.kernel_warmup import count_log_bytes, warm_kernels_for
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_output
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder

Paths = Annotated[list[str], typer.Argument(help="Log directories, partitions or segment files.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Deep = Annotated[bool, typer.Option("--deep", help="Read the records too, not only batch headers.")]


def verify(
    paths: Paths,
    *,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: Json = False,
) -> None:
    """Verify every checksum, record, index and snapshot; exit with 1 if something is wrong."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench.verify import verify as work  # noqa: PLC0415  # as above

    places, files = [absolute_path(path) for path in paths], SystemFiles()
    settings = settings_finder(files, config=config, broker_config=broker_config)
    size = count_log_bytes(places)
    warm_kernels_for(size)
    with show_progress(size) as advance:
        found = work.verify(
            files, places, settings=settings, checker=batch_checker(), on_bytes=advance
        )
    print_output(found.to_json() if as_json else str(found))
    if found.is_damaged:
        raise typer.Exit(FOUND_WRONG)


def stat(paths: Paths, *, deep: Deep = False, as_json: Json = False) -> None:
    """Count batches, records, bytes, compression types, producers and transactions."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records.kernels import batch_checker  # noqa: PLC0415  # as above
    from cordwood.workbench import stat as work  # noqa: PLC0415  # as above

    places = [absolute_path(path) for path in paths]
    size = count_log_bytes(places)
    warm_kernels_for(size)
    with show_progress(size) as advance:
        found = work.stat(
            SystemFiles(), places, is_deep=deep, checker=batch_checker(), on_bytes=advance
        )
    print_output(found.to_json() if as_json else str(found))


def add_to(app: typer.Typer) -> None:
    """Register the commands."""
    app.command(epilog="Example: cordwood log verify logs/orders-0")(verify)
    app.command(epilog="Example: cordwood log stat logs --deep --json")(stat)

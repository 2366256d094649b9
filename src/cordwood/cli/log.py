"""`cordwood log`: commands over the files of logs, whether a broker runs or not."""

import sys
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.endings import FOUND_WRONG

if TYPE_CHECKING:
    from cordwood.workbench.dump_options import DumpOptions

app = typer.Typer(help="Look into the files of a log.", no_args_is_help=True)


def _range(text: str | None, name: str) -> tuple[int | None, int | None]:
    """Read FROM:TO, either of which may be left out."""
    first, colon, last = (text or ":").partition(":")
    try:
        if colon:
            return (int(first) if first else None), (int(last) if last else None)
    except ValueError:
        pass
    raise typer.BadParameter(f"{text!r} is not FROM:TO", param_hint=f"--{name}")


@app.command(
    epilog="Example: cordwood log dump --files logs/orders-0/00000000000000000000.log"
    " --print-data-log --offsets 100:199"
)
def dump(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    *,
    files: Annotated[str, typer.Option(help="Files to dump, with commas between them.")],
    print_data_log: Annotated[
        bool, typer.Option("--print-data-log", help="Print keys and values too.")
    ] = False,
    deep_iteration: Annotated[
        bool, typer.Option("--deep-iteration", help="Print records, not only batches.")
    ] = False,
    verify_index_only: Annotated[
        bool, typer.Option("--verify-index-only", help="Check indexes, print no entries.")
    ] = False,
    index_sanity_check: Annotated[
        bool, typer.Option("--index-sanity-check", help="Check as a broker does when it starts.")
    ] = False,
    skip_record_metadata: Annotated[
        bool, typer.Option("--skip-record-metadata", help="Print only keys and values of records.")
    ] = False,
    max_message_size: Annotated[
        int, typer.Option(help="Size of the largest batch that an index may point to.")
    ] = 5 << 20,
    max_bytes: Annotated[int, typer.Option(help="Read no further than this into a log.")] = (
        1 << 31
    )
    - 1,
    key_decoder_class: Annotated[
        str | None, typer.Option(help="Kafka's StringDecoder, IntegerDecoder or LongDecoder.")
    ] = None,
    value_decoder_class: Annotated[str | None, typer.Option(help="The same for values.")] = None,
    offsets_decoder: Annotated[
        bool, typer.Option("--offsets-decoder", help="Not there yet: group offsets.")
    ] = False,
    transaction_log_decoder: Annotated[
        bool, typer.Option("--transaction-log-decoder", help="Not there yet: transactions.")
    ] = False,
    cluster_metadata_decoder: Annotated[
        bool, typer.Option("--cluster-metadata-decoder", help="Not there yet: metadata records.")
    ] = False,
    remote_log_metadata_decoder: Annotated[
        bool, typer.Option("--remote-log-metadata-decoder", help="Not there yet: remote logs.")
    ] = False,
    share_group_state_decoder: Annotated[
        bool, typer.Option("--share-group-state-decoder", help="Not there yet: share groups.")
    ] = False,
    offsets: Annotated[
        str | None, typer.Option(help="FROM:TO, both included: only these offsets.")
    ] = None,
    timestamps: Annotated[
        str | None, typer.Option(help="FROM:TO in milliseconds, both included.")
    ] = None,
    output_format: Annotated[
        str, typer.Option("--format", help="text, json, arrow or parquet.")
    ] = "text",
    bytes_per_second: Annotated[
        int | None, typer.Option(min=1, help="Read no faster than this.")
    ] = None,
) -> None:
    """Print what files of a log hold, in the lines of Kafka's own tool."""
    from cordwood.workbench.dump_options import DumpOptions as Options  # noqa: PLC0415  # as above
    from cordwood.workbench.dump_options import (  # noqa: PLC0415  # help needs none of it
        decoder_named,
        ensure_decoder_exists,
        selection_of,
    )

    for name, is_asked in (
        ("offsets-decoder", offsets_decoder),
        ("transaction-log-decoder", transaction_log_decoder),
        ("cluster-metadata-decoder", cluster_metadata_decoder),
        ("remote-log-metadata-decoder", remote_log_metadata_decoder),
        ("share-group-state-decoder", share_group_state_decoder),
    ):
        if is_asked:
            ensure_decoder_exists(name)
    has_decoder = key_decoder_class is not None or value_decoder_class is not None
    options = Options(
        folder=_working_folder(),
        has_data=print_data_log or has_decoder,
        is_deep=deep_iteration,
        is_verify_only=verify_index_only,
        is_sanity_only=index_sanity_check,
        skip_metadata=skip_record_metadata,
        max_message_size=max_message_size,
        max_bytes=max_bytes,
        selection=selection_of(_range(offsets, "offsets"), _range(timestamps, "timestamps")),
        key_text=decoder_named(key_decoder_class),
        value_text=decoder_named(value_decoder_class),
    )
    _dump(options, split_files(files), output_format, bytes_per_second)


def split_files(text: str) -> list[str]:
    """Split at commas as Java does, which drops what is empty at the end."""
    paths = text.split(",")
    while len(paths) > 1 and not paths[-1]:
        paths.pop()
    return paths


def _working_folder() -> str:
    from pathlib import Path  # noqa: PLC0415  # help needs none of it

    return str(Path.cwd())


def _dump(
    options: "DumpOptions", paths: list[str], output_format: str, bytes_per_second: int | None
) -> None:
    """Do the dump on this machine's files, and end with what it found."""
    from cordwood.core.system import SystemClock, SystemFiles  # noqa: PLC0415  # as above
    from cordwood.records import kernels  # noqa: PLC0415  # as above
    from cordwood.records.lines import PlainLineWriter  # noqa: PLC0415  # as above
    from cordwood.workbench import dump_formats  # noqa: PLC0415  # as above
    from cordwood.workbench.dump_options import Tools  # noqa: PLC0415  # as above
    from cordwood.workbench.windows import Throttle, spend_freely  # noqa: PLC0415  # as above

    spend = (
        spend_freely
        if bytes_per_second is None
        else Throttle(bytes_per_second, SystemClock(), Event().wait)
    )
    tools = Tools(
        files=SystemFiles(),
        options=options,
        spend=spend,
        writer=kernels.line_writer() if options.has_records else PlainLineWriter(),
        inspector=kernels.inspector(),
    )
    for text, is_error in dump_formats.dump_as(output_format, tools, paths):
        (sys.stderr if is_error else sys.stdout).buffer.write(text)
    sys.stdout.flush()
    if tools.findings.is_wrong:
        raise typer.Exit(FOUND_WRONG)

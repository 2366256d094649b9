"""`cordwood log`: commands over the files of logs, whether a broker runs or not."""

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli import log_adopt, log_explain, log_reindex, log_salvage, log_verify
from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import is_terminal, write
from cordwood.cli.progress import progress
from cordwood.cli.warming import warm_for

if TYPE_CHECKING:
    from cordwood.workbench.dump_options import DumpOptions
    from cordwood.workbench.windows import Spend

app = typer.Typer(help="Look into the files of a log.", no_args_is_help=True)
log_verify.add_to(app)
log_adopt.register(app)
log_explain.register(app)
log_reindex.register(app)
log_salvage.register(app)


def _flag(name: str, words: str) -> object:
    """A yes-or-no without its opposite, as in Kafka's tools."""
    return typer.Option(name, help=words)


Files = Annotated[str, typer.Option(help="Files to dump, with commas between.")]
Data = Annotated[bool, _flag("--print-data-log", "Print keys and values too.")]
Deep = Annotated[bool, _flag("--deep-iteration", "Print records, not only batches.")]
Verify = Annotated[bool, _flag("--verify-index-only", "Check indexes, print no entries.")]
Sanity = Annotated[bool, _flag("--index-sanity-check", "Check as a broker does at its start.")]
Bare = Annotated[bool, _flag("--skip-record-metadata", "Print only keys and values.")]
MessageSize = Annotated[int, typer.Option(help="Largest batch that an index may point to.")]
MaxBytes = Annotated[int, typer.Option(help="Read no further than this into a log.")]
Decoder = Annotated[
    str | None, typer.Option(help="Kafka's StringDecoder, IntegerDecoder or LongDecoder.")
]
Offsets = Annotated[bool, _flag("--offsets-decoder", "Not there yet.")]
Transactions = Annotated[bool, _flag("--transaction-log-decoder", "Not there yet.")]
Metadata = Annotated[bool, _flag("--cluster-metadata-decoder", "Not there yet.")]
Remote = Annotated[bool, _flag("--remote-log-metadata-decoder", "Not there yet.")]
Shares = Annotated[bool, _flag("--share-group-state-decoder", "Not there yet.")]
OffsetRange = Annotated[str | None, typer.Option(help="FROM:TO, only these, both included.")]
TimeRange = Annotated[str | None, typer.Option(help="FROM:TO in ms, both included.")]
Format = Annotated[str, typer.Option("--format", help="text, json, arrow or parquet.")]
Rate = Annotated[int | None, typer.Option(min=1, help="Read no faster than this.")]


@app.callback()
def _family() -> None:
    """Keep `log` in front of its commands, be it only one."""


@app.command(
    epilog="Example: cordwood log dump --files logs/orders-0/00000000000000000000.log"
    " --print-data-log --offsets 100:199"
)
def dump(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    *,
    files: Files,
    print_data_log: Data = False,
    deep_iteration: Deep = False,
    verify_index_only: Verify = False,
    index_sanity_check: Sanity = False,
    skip_record_metadata: Bare = False,
    max_message_size: MessageSize = 5 << 20,
    max_bytes: MaxBytes = (1 << 31) - 1,
    key_decoder_class: Decoder = None,
    value_decoder_class: Decoder = None,
    offsets_decoder: Offsets = False,
    transaction_log_decoder: Transactions = False,
    cluster_metadata_decoder: Metadata = False,
    remote_log_metadata_decoder: Remote = False,
    share_group_state_decoder: Shares = False,
    offsets: OffsetRange = None,
    timestamps: TimeRange = None,
    output_format: Format = "text",
    bytes_per_second: Rate = None,
) -> None:
    """Print what files of a log hold, in the lines of Kafka's own tool."""
    from cordwood.workbench import dump_options as asked  # noqa: PLC0415  # help needs none of it

    asked.ensure_decoders_exist(
        {
            "offsets-decoder": offsets_decoder,
            "transaction-log-decoder": transaction_log_decoder,
            "cluster-metadata-decoder": cluster_metadata_decoder,
            "remote-log-metadata-decoder": remote_log_metadata_decoder,
            "share-group-state-decoder": share_group_state_decoder,
        }
    )
    options = asked.DumpOptions(
        folder=str(Path.cwd()),
        has_data=print_data_log or bool(key_decoder_class or value_decoder_class),
        is_deep=deep_iteration,
        is_verify_only=verify_index_only,
        is_sanity_only=index_sanity_check,
        skip_metadata=skip_record_metadata,
        max_message_size=max_message_size,
        max_bytes=max_bytes,
        selection=asked.selection_of(range_in(offsets), range_in(timestamps)),
        key_text=asked.decoder_named(key_decoder_class),
        value_text=asked.decoder_named(value_decoder_class),
    )
    _dump(options, split_files(files), output_format, bytes_per_second=bytes_per_second)


def range_in(text: str | None) -> tuple[int | None, int | None]:
    """Read FROM:TO, either of which may be left out."""
    from cordwood.core.binary import INT64_MAX, INT64_MIN  # noqa: PLC0415  # help needs none of it

    try:
        first, last = (int(each) if each else None for each in (text or ":").split(":"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not FROM:TO") from None
    numbers = [each for each in (first, last) if each is not None]
    if numbers != sorted(numbers) or not all(INT64_MIN <= each <= INT64_MAX for each in numbers):
        raise typer.BadParameter(f"{text!r} does not rise, or has numbers beyond 64 bits")
    return first, last


def split_files(text: str) -> list[str]:
    """Split at commas as Java does, which drops what is empty at the end."""
    paths = text.split(",")
    while len(paths) > 1 and not paths[-1]:
        paths.pop()
    return paths


def _dump(
    options: "DumpOptions",
    paths: list[str],
    output_format: str,
    *,
    bytes_per_second: int | None,
) -> None:
    """Do the dump on this machine's files, and end with what it found."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records import kernels  # noqa: PLC0415  # as above
    from cordwood.workbench.dump_formats import dump_as  # noqa: PLC0415  # as above
    from cordwood.workbench.dump_options import Tools  # noqa: PLC0415  # as above

    total = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    if options.has_records or output_format in {"arrow", "parquet"}:
        warm_for(total)
    with progress(total, is_shown=not is_terminal(sys.stdout)) as tell:
        tools = Tools(
            files=SystemFiles(),
            options=options,
            spend=_spend(tell, bytes_per_second),
        )
        # Kernels cost half a second to load, so only those come that are of use.
        if output_format == "text" and options.has_records:
            tools.writer = kernels.line_writer()
        if any(path.endswith(".timeindex") for path in paths):
            tools.inspector = kernels.inspector()
        if output_format in {"arrow", "parquet"}:
            tools.decoder = kernels.decoder()
        for text, is_error in dump_as(output_format, tools, paths=paths):
            if is_error:
                sys.stderr.buffer.write(text)
            elif not write(text):
                break
    if tools.findings.is_wrong:
        raise typer.Exit(FOUND_WRONG)


def _spend(tell: Callable[[int], object], bytes_per_second: int | None) -> "Spend":
    """Return what is told of every byte read, and waits when there is a limit."""
    if bytes_per_second is None:
        return tell
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench.windows import Throttle  # noqa: PLC0415  # as above

    throttle = Throttle(bytes_per_second, SystemClock(), Event().wait)

    def spend(size: int) -> None:
        tell(size)
        throttle(size)

    return spend

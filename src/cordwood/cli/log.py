"""`cordwood log`: commands over log files; `log dump` is Kafka's `DumpLogSegments`."""

import sys
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli import (
    log_adopt,
    log_diff,
    log_explain,
    log_picture,
    log_reindex,
    log_salvage,
    log_stat,
    log_verify,
)
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.log_targets import partitions_at
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import is_terminal, write_output

if TYPE_CHECKING:
    from cordwood.workbench.dump.dump_options import DumpOptions
    from cordwood.workbench.file_window import OnBytes

app = typer.Typer(help="Dump, verify, explain and repair the files of logs.", no_args_is_help=True)
log_verify.add_to(app)
log_stat.add_to(app)
log_adopt.add_to(app)
log_explain.add_to(app)
log_diff.add_to(app)
log_picture.add_to(app)
log_reindex.add_to(app)
log_salvage.add_to(app)


def _flag(name: str, text: str) -> object:
    """Return a flag without a `--no-` form, as in Kafka's tools."""
    return typer.Option(name, help=text)


def _hidden_flag(name: str) -> object:
    return typer.Option(name, hidden=True)


Paths = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...", help="Files; a partition or log directory stands for its .log files."
    ),
]
Files = Annotated[str | None, typer.Option(help="The same files, separated by commas.")]
Data = Annotated[bool, _flag("--print-data-log", "Print keys and values too.")]
Deep = Annotated[bool, _flag("--deep-iteration", "Print records, not only batches.")]
Verify = Annotated[bool, _flag("--verify-index-only", "Check indexes without printing entries.")]
Sanity = Annotated[
    bool, _flag("--index-sanity-check", "Check indexes as a broker does at startup.")
]
Bare = Annotated[bool, _flag("--skip-record-metadata", "Print only keys and values.")]
MessageSize = Annotated[
    int, typer.Option(help="Largest batch, in bytes, that an index may point to.")
]
MaxBytes = Annotated[int, typer.Option(help="Read only this many bytes of each log.")]
Decoder = Annotated[
    str | None,
    typer.Option(help="Decode with Kafka's StringDecoder, IntegerDecoder or LongDecoder."),
]
Offsets = Annotated[bool, _flag("--offsets-decoder", "Decode the records of __consumer_offsets.")]
Transactions = Annotated[
    bool, _flag("--transaction-log-decoder", "Decode the records of __transaction_state.")
]
# Decoders of Kafka that are not supported: they have an error, and are not in the help.
Metadata = Annotated[bool, _hidden_flag("--cluster-metadata-decoder")]
Remote = Annotated[bool, _hidden_flag("--remote-log-metadata-decoder")]
Shares = Annotated[bool, _hidden_flag("--share-group-state-decoder")]
OffsetRange = Annotated[
    str | None,
    typer.Option(metavar="FROM:TO", help="Print only these offsets, both ends included."),
]
TimeRange = Annotated[
    str | None,
    typer.Option(metavar="FROM:TO", help="Print only these times in ms, both ends included."),
]
Format = Annotated[str, typer.Option("--format", help="Output format: text, json, arrow, parquet.")]
Rate = Annotated[
    int | None, typer.Option(min=1, help="Maximum bytes read per second.  [default: unlimited]")
]


@app.callback()
def _family() -> None:
    """Keep the name `log` even if it has only one command."""


@app.command(
    epilog="Example: cordwood log dump logs/orders-0/00000000000000000000.log"
    " --print-data-log --offsets 100:199"
)
def dump(  # noqa: PLR0913  # tidy: allow[parameters] an option each, Kafka's and ours
    paths: Paths = None,
    *,
    files: Files = None,
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
    """Print the contents of log files, in the format of kafka-dump-log.sh."""
    from cordwood.workbench.dump import dump_options  # noqa: PLC0415  # help needs none of it

    record_parser = dump_options.find_record_parser(
        {
            "offsets-decoder": offsets_decoder,
            "transaction-log-decoder": transaction_log_decoder,
            "cluster-metadata-decoder": cluster_metadata_decoder,
            "remote-log-metadata-decoder": remote_log_metadata_decoder,
            "share-group-state-decoder": share_group_state_decoder,
        }
    )
    options = dump_options.DumpOptions(
        folder=str(Path.cwd()),
        has_data=print_data_log or bool(key_decoder_class or value_decoder_class or record_parser),
        is_deep=deep_iteration,
        is_verify_only=verify_index_only,
        is_sanity_only=index_sanity_check,
        skip_metadata=skip_record_metadata,
        max_message_size=max_message_size,
        max_bytes=max_bytes,
        selection=dump_options.build_selection(parse_range(offsets), parse_range(timestamps)),
        key_text=dump_options.find_decoder(key_decoder_class),
        value_text=dump_options.find_decoder(value_decoder_class),
        record_parser=record_parser,
    )
    given = [*(paths or ()), *(split_files(files) if files is not None else ())]
    if not given:
        raise typer.BadParameter("no file is given; name a file or the directory of a partition")
    chosen = [each for path in given for each in _files_at(path)]
    _dump(options, chosen, output_format, bytes_per_second=bytes_per_second)


def _files_at(path: str) -> list[str]:
    """Return a file, or the log files of a partition or of a log directory."""
    from cordwood.core.errors import LogDirectoryError  # noqa: PLC0415  # help needs none of it
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as above

    place = Path(path)
    if not place.is_dir():
        if not place.exists():
            raise LogDirectoryError("does not exist", path=path, remedy="check the path")
        return [path]
    partitions = map(Path, partitions_at(SystemFiles(), path.rstrip("/")))
    found = [str(log) for each in partitions for log in sorted(each.glob("*.log"))]
    if not found:
        raise LogDirectoryError(
            "has no .log file", path=path, remedy="give a file or the directory of a partition"
        )
    return found


def parse_range(text: str | None) -> tuple[int | None, int | None]:
    """Parse `FROM:TO`; either end may be missing."""
    from cordwood.core.binary import INT64_MAX, INT64_MIN  # noqa: PLC0415  # help needs none of it

    try:
        first, last = (int(each) if each else None for each in (text or ":").split(":"))
    except ValueError:
        raise typer.BadParameter(f"{text!r} is not FROM:TO") from None
    numbers = [each for each in (first, last) if each is not None]
    if numbers != sorted(numbers) or not all(INT64_MIN <= each <= INT64_MAX for each in numbers):
        raise typer.BadParameter(f"{text!r} does not ascend, or a number exceeds 64 bits")
    return first, last


def split_files(text: str) -> list[str]:
    """Split at commas as Java does, which drops empty parts at the end."""
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
    """Dump files of this machine; exit with 1 if something is wrong in them."""
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # help needs none of it
    from cordwood.records import kernels  # noqa: PLC0415  # as above
    from cordwood.workbench.dump.dump_options import DumpRun  # noqa: PLC0415  # as above
    from cordwood.workbench.dump.formats import dump_as  # noqa: PLC0415  # as above

    total = sum(Path(path).stat().st_size for path in paths if Path(path).is_file())
    with show_progress(total, is_shown=not is_terminal(sys.stdout)) as tell:
        run = DumpRun(
            files=SystemFiles(),
            options=options,
            on_bytes=_read_callback(tell, bytes_per_second),
        )
        # Loading a kernel takes half a second, so only the ones that are used are loaded.
        if output_format == "text" and options.has_records:
            run.writer = kernels.line_writer()
        if any(path.endswith(".timeindex") for path in paths):
            run.inspector = kernels.inspector()
        if output_format in {"arrow", "parquet"}:
            run.decoder = kernels.decoder()
        for text, is_error in dump_as(output_format, run, paths=paths):
            if is_error:
                sys.stderr.buffer.write(text)
            elif not write_output(text):
                break
    if run.findings.is_wrong:
        raise typer.Exit(FOUND_WRONG)


def _read_callback(tell: Callable[[int], object], bytes_per_second: int | None) -> "OnBytes":
    """Return the callback for bytes read: it shows progress, and sleeps to keep the rate."""
    if bytes_per_second is None:
        return tell
    from cordwood.core.system import SystemClock  # noqa: PLC0415  # help needs none of it
    from cordwood.workbench.file_window import Throttle  # noqa: PLC0415  # as above

    throttle = Throttle(bytes_per_second, SystemClock(), Event().wait)

    def on_bytes(size: int) -> None:
        tell(size)
        throttle(size)

    return on_bytes

"""`cordwood bench`: throughput and latency of a cluster (Kafka: `ProducerPerformance`).

`cli.bench_run` measures.
"""

from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.cluster_options import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    client_config,
    reachable_config,
)
from cordwood.cli.exit_codes import FOUND_WRONG
from cordwood.cli.produce import CompressionCodec, RequiredAcks
from cordwood.cli.progress import show_progress
from cordwood.cli.terminal import print_message, print_output
from cordwood.core.counts import counted

if TYPE_CHECKING:
    from cordwood.cli.bench_run import BenchResult

app = typer.Typer(help="Measure the throughput and latency of a cluster.", no_args_is_help=True)

Topic = Annotated[str, typer.Option(help="Topic name.")]
NumRecords = Annotated[int, typer.Option(min=1, help="Number of records.")]
RecordSize = Annotated[int, typer.Option(min=1, help="Size of a value in bytes.")]
Throughput = Annotated[
    int, typer.Option(min=-1, help="Maximum records per second; -1 for no limit.")
]
TimeoutMs = Annotated[
    int, typer.Option(min=1, help="Stop if no record arrives for this many milliseconds.")
]
Columns = Annotated[bool, typer.Option("--columns", help="Read Arrow columns instead of records.")]


@app.command(
    epilog="Example: cordwood bench produce --topic t --num-records 1000000 --record-size 100"
)
def produce(  # noqa: PLR0913  # tidy: allow[parameters] an option each, most of them Kafka's
    *,
    topic: Topic,
    num_records: NumRecords = 100_000,
    record_size: RecordSize = 100,
    throughput: Throughput = -1,
    compression_codec: CompressionCodec = None,
    acks: RequiredAcks = None,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Measure how fast records can be sent, and how long each takes to be acknowledged."""
    from cordwood.cli import bench_run, produce_run  # noqa: PLC0415  # help needs none of it

    config = reachable_config(
        bootstrap_server,
        command_config,
        properties=command_property,
        compression_type=compression_codec,
        acks=acks,
    )
    load = bench_run.BenchLoad(topic, num_records, record_size)
    rate = throughput if throughput > 0 else None
    with show_progress(num_records, label="sending") as advance:
        result = bench_run.measure_produce(
            load, produce_run.producer_config(config), rate=rate, advance=advance
        )
    _print(result, as_json=as_json)


@app.command(epilog="Example: cordwood bench consume --topic t --num-records 1000000")
def consume(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    *,
    topic: Topic,
    num_records: NumRecords = 100_000,
    timeout_ms: TimeoutMs = 10_000,
    columns: Columns = False,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Measure how fast a topic can be read from its beginning; exit with 1 if it is too short."""
    from cordwood.cli import bench_run  # noqa: PLC0415  # help needs none of it

    config = reachable_config(bootstrap_server, command_config, properties=command_property)
    load = bench_run.BenchLoad(topic, num_records)
    with show_progress(num_records) as advance:
        result = bench_run.measure_consume(
            load, config, timeout_ms=timeout_ms, is_columnar=columns, advance=advance
        )
    _print(result, as_json=as_json)
    if result.records < num_records:
        print_message(
            f"{topic}: only {counted(result.records, 'record')} of {num_records:,} arrived; the"
            f" wait of {timeout_ms:,} ms after the last one is not counted"
        )
        raise typer.Exit(FOUND_WRONG)


@app.command(epilog="Example: cordwood bench latency --topic t --num-records 10000")
def latency(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    *,
    topic: Topic,
    num_records: NumRecords = 1_000,
    record_size: RecordSize = 100,
    acks: RequiredAcks = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Measure the time from sending a record to reading it, one record at a time."""
    from cordwood.cli import bench_run, produce_run  # noqa: PLC0415  # help needs none of it

    consuming = client_config(bootstrap_server, command_config)
    config = reachable_config(bootstrap_server, command_config, acks=acks)
    load = bench_run.BenchLoad(topic, num_records, record_size)
    _print(
        bench_run.measure_latency(load, produce_run.producer_config(config), consuming=consuming),
        as_json=as_json,
    )


def _print(result: "BenchResult", *, as_json: bool) -> None:
    print_output(result.to_json() if as_json else "\n".join(result.lines()))

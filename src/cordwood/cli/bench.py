"""`cordwood bench`: how fast a cluster is with these clients. `cli.measuring` measures."""

from typing import TYPE_CHECKING, Annotated

import typer

from cordwood.cli.connecting import (
    AsJson,
    BootstrapServer,
    CommandConfig,
    CommandProperty,
    client_config,
)
from cordwood.cli.output import say
from cordwood.cli.produce import Acks, Codec, CompressionCodec, WhoAcks

if TYPE_CHECKING:
    from cordwood.cli.measuring import Measured

app = typer.Typer(help="Measure a cluster.", no_args_is_help=True)

Topic = Annotated[str, typer.Option(help="The topic.")]
NumRecords = Annotated[int, typer.Option(min=1, help="How many records.")]
RecordSize = Annotated[int, typer.Option(min=1, help="How many bytes a value has.")]
Throughput = Annotated[
    int, typer.Option(min=-1, help="No more records a second than these; -1: all that goes.")
]
TimeoutMs = Annotated[int, typer.Option(min=1, help="End when none came for so long.")]
Columns = Annotated[
    bool, typer.Option("--columns", help="Read Arrow's columns instead of records.")
]


@app.command(
    epilog="Example: cordwood bench produce --topic t --num-records 1000000 --record-size 100"
)
def produce(  # noqa: PLR0913  # tidy: allow[parameters] an option each, most of them Kafka's
    *,
    topic: Topic,
    num_records: NumRecords = 100_000,
    record_size: RecordSize = 100,
    throughput: Throughput = -1,
    compression_codec: CompressionCodec = Codec.NONE,
    acks: WhoAcks = Acks.ALL,
    command_property: CommandProperty = None,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Send records as fast as the cluster takes them, and say how long each was under way."""
    from cordwood.cli import measuring, producing  # noqa: PLC0415  # help needs none of it

    config = client_config(
        bootstrap_server,
        command_config,
        properties=command_property,
        compression_type=compression_codec.value,
        **producing.acknowledged(acks.value),
    )
    load = measuring.Load(topic, num_records, record_size)
    _say(
        measuring.measure_produce(
            load, producing.patient(config), rate=throughput if throughput > 0 else None
        ),
        as_json=as_json,
    )


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
    """Read a topic from its beginning as fast as it comes."""
    from cordwood.cli import measuring  # noqa: PLC0415  # help needs none of it

    config = client_config(bootstrap_server, command_config, properties=command_property)
    load = measuring.Load(topic, num_records)
    _say(
        measuring.measure_consume(load, config, timeout_ms=timeout_ms, is_columnar=columns),
        as_json=as_json,
    )


@app.command(epilog="Example: cordwood bench latency --topic t --num-records 10000")
def latency(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    *,
    topic: Topic,
    num_records: NumRecords = 1_000,
    record_size: RecordSize = 100,
    acks: WhoAcks = Acks.ALL,
    bootstrap_server: BootstrapServer = None,
    command_config: CommandConfig = None,
    as_json: AsJson = False,
) -> None:
    """Send one record after the other, each once the one before it has been read again."""
    from cordwood.cli import measuring, producing  # noqa: PLC0415  # help needs none of it

    consuming = client_config(bootstrap_server, command_config)
    config = client_config(
        bootstrap_server, command_config, properties=None, **producing.acknowledged(acks.value)
    )
    load = measuring.Load(topic, num_records, record_size)
    _say(
        measuring.measure_latency(load, producing.patient(config), consuming=consuming),
        as_json=as_json,
    )


def _say(measured: "Measured", *, as_json: bool) -> None:
    say(measured.to_json() if as_json else "\n".join(measured.lines()))

"""`cordwood spark pipeline`: streams from topics to topics and tables, exactly once."""

from contextlib import closing
from typing import Annotated, Final

import typer

from cordwood.cli.row_output import print_rows
from cordwood.cli.spark.job_run import AsJson, Conf, Master, job_session
from cordwood.cli.terminal import print_message, print_output

EXAMPLE: Final = "Example: cordwood spark pipeline run orders.toml"

File = Annotated[str, typer.Argument(metavar="FILE", help="TOML file of the pipeline.")]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]

app = typer.Typer(help="Run pipelines, and show their state.", no_args_is_help=True)


@app.command(epilog=EXAMPLE)
def run(
    file: File,
    *,
    metrics: Annotated[
        str | None,
        typer.Option(metavar="FILE", help="Write metrics for Prometheus to this file."),
    ] = None,
    metrics_address: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Serve these metrics over HTTP at /metrics."),
    ] = None,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Run a pipeline until the end of its source, or, with a trigger time, until it is stopped."""
    from cordwood.spark.pipeline import read_pipeline, run_pipeline  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.runtime.stream_settings import UNIX_SOCKETS  # noqa: PLC0415  # as above

    pipeline = read_pipeline(file)
    given = [f"{UNIX_SOCKETS}=true", *(conf or ())]
    with job_session(f"pipeline {pipeline.name}", master=master, conf=given) as (spark, _):
        from cordwood.spark.stream.stream_listener import StreamListener  # noqa: PLC0415  # pyspark

        listener = StreamListener(write=print_message, metrics_path=metrics)
        with closing(listener):
            if metrics_address is not None:
                print_message(f"metrics: http://{listener.serve(metrics_address)}/metrics")
            spark.streams.addListener(listener)
            report = run_pipeline(spark, pipeline)
    print_output(str(report))


@app.command(epilog="Example: cordwood spark pipeline status orders.toml")
def status(file: File, *, as_json: AsJson = False) -> None:
    """Show the last batch of a pipeline, and the next offset of each partition."""
    from cordwood.spark.pipeline.pipeline_definition import read_pipeline  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.pipeline.pipeline_state import pipeline_state  # noqa: PLC0415  # as above

    print_rows(pipeline_state(read_pipeline(file)).rows(), as_json=as_json)


@app.command(epilog="Example: cordwood spark pipeline explain orders.toml")
def explain(file: File) -> None:
    """Show what a pipeline reads, does and writes, without running it."""
    from cordwood.spark.pipeline.pipeline_definition import read_pipeline  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.pipeline.pipeline_outline import pipeline_outline  # noqa: PLC0415  # as above

    print_output(pipeline_outline(read_pipeline(file)))


@app.command(epilog="Example: cordwood spark pipeline reset orders.toml --yes")
def reset(file: File, *, yes: Yes = False) -> None:
    """Remove the checkpoint of a pipeline: the next run writes the rows of its source again."""
    from cordwood.spark.pipeline.pipeline_definition import read_pipeline  # noqa: PLC0415  # help needs none of it
    from cordwood.spark.pipeline.pipeline_state import reset_pipeline  # noqa: PLC0415  # as above

    pipeline = read_pipeline(file)
    if not yes:
        typer.confirm(f"Remove {pipeline.checkpoint}? The sink keeps its rows.", abort=True)
    is_removed = reset_pipeline(pipeline)
    print_output(
        f"{pipeline.name}: {'removed its checkpoint' if is_removed else 'has no checkpoint'}"
    )

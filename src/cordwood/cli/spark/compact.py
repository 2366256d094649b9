"""`cordwood spark compact`: `cordwood compact` for many partitions in parallel."""

from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path, parse_pairs
from cordwood.cli.compact import (
    AsJson,
    CertificateFile,
    Directories,
    DryRun,
    EraseKey,
    FromStart,
    KeyFormat,
    LeaveNewer,
    Memory,
    Roll,
    VerifyOption,
    VerifyShare,
)
from cordwood.cli.spark.job_run import Conf, Master, job_session
from cordwood.cli.spark.source_options import existing_paths
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder
from cordwood.compaction.passes.key_erasure import KeyForm

EXAMPLE: Final = "Example: cordwood spark compact kafka-logs --master local[4]"
_MIB: Final = 1 << 20

WholeBytes = Annotated[
    int, typer.Option(min=0, metavar="BYTES", help="Split a log larger than this among tasks.")
]


def compact(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    directories: Directories,
    *,
    dry_run: DryRun = False,
    from_start: FromStart = False,
    erase_key: EraseKey = None,
    key_format: KeyFormat = KeyForm.TEXT,
    leave_newer: LeaveNewer = False,
    roll: Roll = False,
    memory: Memory = 44 * _MIB,
    whole_bytes: WholeBytes = 2048 * _MIB,
    verify: VerifyOption = VerifyShare.SAMPLE,
    certificate: CertificateFile = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Compact partitions in place with Spark: keep only the last record of each key."""
    from cordwood.cli import compact_run  # noqa: PLC0415  # help needs none of it
    from cordwood.compaction.cleaning_job import Verify  # noqa: PLC0415  # as above
    from cordwood.compaction.plan.plan_builder import PassOptions  # noqa: PLC0415  # as above
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as above
    from cordwood.spark import jobs  # noqa: PLC0415  # as above
    from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder  # noqa: PLC0415  # as above
    from cordwood.workbench.compact import find_compact_targets  # noqa: PLC0415  # as above

    if roll and dry_run:
        raise typer.BadParameter("--roll and --dry-run exclude each other; choose one of them")
    files, paths = SystemFiles(), existing_paths(directories)
    keys: dict[bytes, int] = {}
    if erase_key is not None:
        keys = compact_run.read_keys(files, absolute_path(erase_key), form=key_format)
    order = CompactJobOrder(
        pass_options=PassOptions(erased_keys=frozenset(keys), is_from_start=from_start),
        memory_bytes=memory,
        whole_bytes=whole_bytes,
        verify=Verify(verify),
        is_rolled=roll,
        is_newer_left=leave_newer,
    )
    output = compact_run.ReportOutput(as_json, certificate and absolute_path(certificate), keys)
    if dry_run:
        settings = settings_finder(files, config=config, broker_config=broker_config)
        places = find_compact_targets(files, paths, settings=settings)
        compact_run.compact(files, places, order=order, output=output, is_dry_run=True)
        return
    with output.opened() as printer, job_session("compact", master=master, conf=conf) as job:
        done = jobs.compact(
            job.spark,
            paths,
            order=order,
            config=parse_pairs(config),
            broker_config=None if broker_config is None else absolute_path(broker_config),
            progress=job.progress,
            on_report=printer.print_report,
        )
        for failure in done.failures:
            printer.print_failure(failure)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(compact)

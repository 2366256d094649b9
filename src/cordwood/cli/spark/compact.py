"""`cordwood spark compact`: what `cordwood compact` does, over many partitions at a time."""

from collections.abc import Sequence
from typing import Annotated, Final

import typer

from cordwood.cli.compact import (
    AsJson,
    CertificateFile,
    Directories,
    DryRun,
    EraseKey,
    KeyFormat,
    LeaveNewer,
    Memory,
    Proof,
    Roll,
    VerifyHow,
)
from cordwood.cli.endings import FOUND_WRONG
from cordwood.cli.output import tell
from cordwood.cli.pairs import pairs_in
from cordwood.cli.paths import absolute
from cordwood.cli.spark.running import Conf, Master, running
from cordwood.cli.topic_settings import BrokerConfig, Config, finder_of
from cordwood.cli.warming import log_bytes, warm_for
from cordwood.compaction.erasing import KeyForm
from cordwood.core.errors import CordwoodError

EXAMPLE: Final = "Example: cordwood spark compact kafka-logs --master local[4]"
_MIB: Final = 1 << 20

WholeBytes = Annotated[
    int, typer.Option(min=0, metavar="BYTES", help="A larger log is shared out among tasks.")
]


def compact(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    directories: Directories,
    *,
    dry_run: DryRun = False,
    erase_key: EraseKey = None,
    key_format: KeyFormat = KeyForm.TEXT,
    leave_newer: LeaveNewer = False,
    roll: Roll = False,
    memory: Memory = 44 * _MIB,
    whole_bytes: WholeBytes = 2048 * _MIB,
    verify: VerifyHow = Proof.SAMPLE,
    certificate: CertificateFile = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
    master: Master = None,
    conf: Conf = None,
) -> None:
    """Keep of each key the last record: plan, pass, proof, and the new segments in their place."""
    from cordwood.cli import compacting  # noqa: PLC0415  # help needs none of it
    from cordwood.compaction.job import Verify  # noqa: PLC0415  # as above
    from cordwood.compaction.planning import Wishes  # noqa: PLC0415  # as above
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as above
    from cordwood.spark import jobs  # noqa: PLC0415  # as above
    from cordwood.spark.jobs.compact_order import CompactJobOrder  # noqa: PLC0415  # as above
    from cordwood.workbench.compact import places_to_compact  # noqa: PLC0415  # as above

    if roll and dry_run:
        raise typer.BadParameter("--roll writes, and --dry-run does not: choose one of them")
    files, paths = SystemFiles(), [absolute(path) for path in directories]
    keys = frozenset[bytes]()
    if erase_key is not None:
        keys = compacting.keys_in_file(files, absolute(erase_key), form=key_format)
    order = CompactJobOrder(
        wishes=Wishes(erased_keys=keys),
        memory_bytes=memory,
        whole_bytes=whole_bytes,
        verify=Verify(verify),
        is_rolled=roll,
        is_newer_left=leave_newer,
    )
    kept = None if certificate is None else absolute(certificate)
    telling = compacting.Telling(as_json=as_json, certificates=kept)
    if dry_run:
        settings = finder_of(files, config=config, broker_config=broker_config)
        places = places_to_compact(files, paths, settings=settings)
        compacting.compact(files, places, order=order, telling=telling, is_dry_run=True)
        return
    with running("compact", master=master, conf=conf) as session, telling.opened() as tell_of:
        warm_for(log_bytes(paths))
        done = jobs.compact(
            session.spark,
            paths,
            order=order,
            config=pairs_in(config),
            broker_config=None if broker_config is None else absolute(broker_config),
            progress=session.progress,
            hear=tell_of,
        )
    _end_with(done.failures)


def _end_with(failures: Sequence[CordwoodError]) -> None:
    """Tell what has come to nothing, and exit with 1 if something has."""
    for failure in failures:
        tell(f"cordwood: {failure}")
    if failures:
        raise typer.Exit(FOUND_WRONG)


def add_to(app: typer.Typer) -> None:
    """Make the command part of the family."""
    app.command(epilog=EXAMPLE)(compact)

"""`cordwood compact`: offline compaction of partitions, in place. `cli.compact_run` does it."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from cordwood.cli.arguments import absolute_path
from cordwood.cli.topic_config_options import BrokerConfig, Config, settings_finder
from cordwood.compaction.key_hash import SEEDS
from cordwood.compaction.passes.key_erasure import KeyForm

EXAMPLE: Final = "Example: cordwood compact kafka-logs/orders-0 --dry-run"
_MIB: Final = 1 << 20


class VerifyShare(StrEnum):
    """How much of a pass is verified before the new segments replace the old ones."""

    ALWAYS = "always"
    SAMPLE = "sample"
    NEVER = "never"


Directories = Annotated[
    list[str],
    typer.Argument(metavar="DIR...", help="Partitions or log directories; stop the broker first."),
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Print what would be compacted and change nothing.")
]
Until = Annotated[
    int | None, typer.Option(min=0, metavar="OFFSET", help="Compact only below this offset.")
]
EraseKey = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Delete all records of the keys in this file, one per line."),
]
KeyFormat = Annotated[KeyForm, typer.Option(help="Format of the keys in the --erase-key file.")]
FromStart = Annotated[
    bool,
    typer.Option("--from-start", help="Ignore the cleaner's checkpoint: all records are dirty."),
]
LeaveNewer = Annotated[
    bool,
    typer.Option("--leave-newer", help="Erase keys even if newer records of them must stay."),
]
Roll = Annotated[
    bool, typer.Option("--roll", help="Roll the active segment first, to compact it too.")
]
Memory = Annotated[
    int,
    typer.Option(
        min=_MIB, metavar="BYTES", help="Memory for the key map (log.cleaner.dedupe.buffer.size)."
    ),
]
VerifyOption = Annotated[
    VerifyShare, typer.Option(help="Verify all keys, a sample of them, or none before the swap.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0,
        max=SEEDS - 1,
        metavar="N",
        help="Seed of the verification sample; copy it from a certificate to repeat that check.",
    ),
]
CertificateFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Append certificates to this file, one JSON object a line."),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object for each partition.")]


def compact(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    directories: Directories,
    *,
    dry_run: DryRun = False,
    until: Until = None,
    from_start: FromStart = False,
    erase_key: EraseKey = None,
    key_format: KeyFormat = KeyForm.TEXT,
    leave_newer: LeaveNewer = False,
    roll: Roll = False,
    memory: Memory = 128 * _MIB,
    verify: VerifyOption = VerifyShare.SAMPLE,
    seed: Seed = None,
    certificate: CertificateFile = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
) -> None:
    """Compact partitions in place: keep only the last record of each key."""
    from cordwood.cli import compact_run  # noqa: PLC0415  # help needs none of it
    from cordwood.compaction.cleaning_job import Verify  # noqa: PLC0415  # as above
    from cordwood.compaction.plan.plan_builder import PassOptions  # noqa: PLC0415  # as above
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as above
    from cordwood.workbench import compact as work  # noqa: PLC0415  # as above

    if roll and dry_run:
        raise typer.BadParameter("--roll and --dry-run exclude each other; choose one of them")
    files = SystemFiles()
    settings = settings_finder(files, config=config, broker_config=broker_config)
    chosen = work.find_compact_targets(files, map(absolute_path, directories), settings=settings)
    if until is not None and len(chosen) > 1:
        raise typer.BadParameter(
            f"--until is an offset of one partition ({len(chosen)} are given); give only that one"
        )
    keys: dict[bytes, int] = {}
    if erase_key is not None:
        keys = compact_run.read_keys(files, absolute_path(erase_key), form=key_format)
    order = work.CompactOrder(
        pass_options=PassOptions(
            until=until, erased_keys=frozenset(keys), is_from_start=from_start
        ),
        memory_bytes=memory,
        verify=Verify(verify),
        seed=seed,
        is_rolled=roll,
        is_newer_left=leave_newer,
    )
    certificate_path = None if certificate is None else absolute_path(certificate)
    output = compact_run.ReportOutput(
        as_json=as_json, certificate_path=certificate_path, key_lines=keys
    )
    compact_run.compact(files, chosen, order=order, output=output, is_dry_run=dry_run)


def add_to(app: typer.Typer) -> None:
    """Register the command."""
    app.command(epilog=EXAMPLE)(compact)

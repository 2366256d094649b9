"""`cordwood compact`: partitions compacted where they lie. `cli.compacting` does it."""

from enum import StrEnum
from typing import Annotated, Final

import typer

from cordwood.cli.paths import absolute
from cordwood.cli.topic_settings import BrokerConfig, Config, finder_of
from cordwood.compaction.erasing import KeyForm
from cordwood.compaction.key_hash import SEEDS

EXAMPLE: Final = "Example: cordwood compact kafka-logs/orders-0 --dry-run"
_MIB: Final = 1 << 20


class Proof(StrEnum):
    """How much of a pass is proven right."""

    ALWAYS = "always"
    SAMPLE = "sample"
    NEVER = "never"


Directories = Annotated[
    list[str], typer.Argument(metavar="DIR...", help="Partitions or log directories, out of use.")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done, and stop.")]
Until = Annotated[
    int | None, typer.Option(min=0, metavar="OFFSET", help="Leave what is at or above it alone.")
]
EraseKey = Annotated[
    str | None,
    typer.Option(metavar="FILE", help="Keys, one a line: all their records go, the last one too."),
]
KeyFormat = Annotated[KeyForm, typer.Option(help="How the lines of that file say keys.")]
LeaveNewer = Annotated[
    bool, typer.Option("--leave-newer", help="Erase keys though some records of them must stay.")
]
Roll = Annotated[
    bool, typer.Option("--roll", help="Close the active segment first: it is compacted too.")
]
Memory = Annotated[
    int, typer.Option(min=_MIB, metavar="BYTES", help="log.cleaner.dedupe.buffer.size.")
]
VerifyHow = Annotated[
    Proof, typer.Option(help="How much is proven before anything takes the place of the old.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        min=0, max=SEEDS - 1, metavar="N", help="Draw the sample as the pass did that told this."
    ),
]
CertificateFile = Annotated[
    str | None, typer.Option(metavar="FILE", help="Where certificates go, a JSON object a line.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print a JSON object a partition.")]


def compact(  # noqa: PLR0913  # tidy: allow[parameters] an option each
    directories: Directories,
    *,
    dry_run: DryRun = False,
    until: Until = None,
    erase_key: EraseKey = None,
    key_format: KeyFormat = KeyForm.TEXT,
    leave_newer: LeaveNewer = False,
    roll: Roll = False,
    memory: Memory = 128 * _MIB,
    verify: VerifyHow = Proof.SAMPLE,
    seed: Seed = None,
    certificate: CertificateFile = None,
    config: Config = None,
    broker_config: BrokerConfig = None,
    as_json: AsJson = False,
) -> None:
    """Keep of each key the last record: plan, pass, proof, and the new segments in their place."""
    from cordwood.cli import compacting  # noqa: PLC0415  # help needs none of it
    from cordwood.compaction.job import Verify  # noqa: PLC0415  # as above
    from cordwood.compaction.planning import Wishes  # noqa: PLC0415  # as above
    from cordwood.core.system import SystemFiles  # noqa: PLC0415  # as above
    from cordwood.workbench import compact as work  # noqa: PLC0415  # as above

    if roll and dry_run:
        raise typer.BadParameter("--roll writes, and --dry-run does not: choose one of them")
    files = SystemFiles()
    settings = finder_of(files, config=config, broker_config=broker_config)
    chosen = work.places_to_compact(files, map(absolute, directories), settings=settings)
    if until is not None and len(chosen) > 1:
        raise typer.BadParameter("--until is an offset of one partition: give that one alone")
    keys = frozenset[bytes]()
    if erase_key is not None:
        keys = compacting.keys_in_file(files, absolute(erase_key), form=key_format)
    order = work.CompactOrder(
        wishes=Wishes(until=until, erased_keys=keys),
        memory_bytes=memory,
        verify=Verify(verify),
        seed=seed,
        is_rolled=roll,
        is_newer_left=leave_newer,
    )
    kept = None if certificate is None else absolute(certificate)
    telling = compacting.Telling(as_json=as_json, certificates=kept)
    compacting.compact(files, chosen, order=order, telling=telling, is_dry_run=dry_run)


def add_to(app: typer.Typer) -> None:
    """Make the command one of the program's."""
    app.command(epilog=EXAMPLE)(compact)

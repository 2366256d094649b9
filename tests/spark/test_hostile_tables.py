"""Random histories of tables under a hostile owner, and planted mistakes that they must find."""

import os
import shutil
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from deltalake import CommitProperties, Transaction

from cordwood.spark.jobs.table_audit import audit_job
from cordwood.spark.jobs.table_audit.audit_report import RowCount
from cordwood.spark.jobs.table_export import export_job, export_plan
from cordwood.spark.jobs.tables import delta_table, iceberg_table, table_ledger
from cordwood.spark.jobs.tables.delta_table import DeltaLakeTable
from cordwood.spark.jobs.tables.export_table import TableCommit
from cordwood.spark.jobs.tables.table_ledger import TableState, commit_metadata
from cordwood.spark.source import split_planning
from cordwood.spark.source.high_watermarks import HighWatermarks
from tests.spark.hostile_history import DefectError, History, replaced

if TYPE_CHECKING:
    from cordwood.spark.source.coverage import OffsetRange

pytestmark = pytest.mark.timeout(14_400)

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"
SEED: Final = int(os.environ.get("CORDWOOD_SEED", "1"))
STEPS: Final = 12
#: Histories of each format, in CI and in soak.
HISTORIES: Final[Mapping[str, tuple[int, int]]] = {
    "parquet": (40, 4000),
    "delta": (36, 3500),
    "iceberg": (24, 2500),
}
#: Histories that may pass before a planted mistake is found.
MOST_HISTORIES: Final = 60
#: Steps and outcomes that the histories of each format must have.
HAPPENINGS: Final = (
    "audit refused",
    "audit: faults",
    "audit: whole",
    "compaction",
    "export during changes of the log",
    "export during changes of the table",
    "expired rows deleted",
    "failover",
    "history forgotten",
    "killed after the commit",
    "killed before the commit",
    "maintenance",
    "partition unmounted",
    "records added",
    "refused",
    "replicate",
    "retention",
    "rows altered",
    "rows deleted",
    "topic made again",
    "transaction",
    "two exports at once",
    "unclean failover",
)


#: Fewer histories have only these for certain.
FREQUENT: Final = ("audit: faults", "audit: whole", "records added", "refused", "retention")
ENOUGH: Final = 30


def take(folder: Path, seed: int, *, kind: str) -> Counter[str]:
    """Take one history, and return what happened in it; an error has what repeats it."""
    folder.mkdir()
    history = History(folder, seed, kind=kind)
    try:
        history.run(STEPS)
    except BaseException as error:
        error.add_note(f"CORDWOOD_SEED={seed}, {kind}: {', '.join(history.steps)}")
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    return history.seen


@pytest.mark.parametrize("kind", tuple(HISTORIES))
def test_tables_keep_each_offset_once_under_a_hostile_owner(
    tmp_path: Path, report: Callable[[str], None], kind: str
) -> None:
    seen: Counter[str] = Counter()
    count = HISTORIES[kind][SOAK]

    for seed in range(SEED, SEED + count):
        seen += take(tmp_path / str(seed), seed, kind=kind)

    expected = HAPPENINGS if count >= ENOUGH else FREQUENT
    assert [name for name in expected if not seen[name]] == []
    happened = ", ".join(f"{number} {name}" for name, number in sorted(seen.items()))
    report(f"{count} histories of tables of {kind}: {happened}")


# -- planted mistakes


def _nothing(*_: object, **__: object) -> None:
    """Check nothing."""


def _no_transaction(commit: TableCommit, after: TableState, *, version: int) -> CommitProperties:
    """Set application transactions of the partitions alone, which another topic does not share."""
    assert version >= 0
    own = [Transaction(f"cordwood/{each.partition}", each.end) for each in commit.ranges]
    return CommitProperties(commit_metadata(commit.ranges, after), app_transactions=own)


def _key_error(*_: object) -> NoReturn:
    raise KeyError("version")


def _from_the_options(wanted: "OffsetRange", *_: object) -> "OffsetRange":
    return wanted


#: A mistake: the format whose histories find it, and what it replaces.
MISTAKES: Final[Mapping[str, tuple[str, tuple[tuple[object, str, object], ...]]]] = {
    "state of another version in Delta": (
        "delta",
        ((delta_table, "_properties", _no_transaction),),
    ),
    "retries of the Iceberg table": ("iceberg", ((iceberg_table, "_NO_RETRIES", {}),)),
    "state of another line of snapshots": (
        "iceberg",
        ((iceberg_table, "_is_of_this_line", lambda _: True),),
    ),
    "restore to a time not understood": (
        "delta",
        ((DeltaLakeTable, "_restored_version", _key_error),),
    ),
    "log end instead of the high watermark": ("parquet", ((HighWatermarks, "limit_of", _nothing),)),
    "leader epochs not compared": (
        "parquet",
        (
            (export_plan, "check_leader_epochs", _nothing),
            (audit_job, "check_leader_epochs", _nothing),
        ),
    ),
    "rows not counted by an audit": ("parquet", ((RowCount, "fault", None),)),
    "starting options instead of the table's end": (
        "parquet",
        ((split_planning, "_continued", _from_the_options),),
    ),
    "topic ids not compared": (
        "parquet",
        ((export_job, "check_topics", _nothing), (table_ledger, "check_topics", _nothing)),
    ),
    "start of a commit not compared": ("iceberg", ((table_ledger, "check_start", _nothing),)),
}


@contextmanager
def planted(name: str) -> Iterator[str]:
    """Plant a mistake; yield the format whose histories find it."""
    kind, replacements = MISTAKES[name]
    with ExitStack() as stack:
        for module, attribute, value in replacements:
            context: AbstractContextManager[None] = replaced(module, attribute, value)
            stack.enter_context(context)
        yield kind


@pytest.mark.parametrize("name", tuple(MISTAKES))
def test_planted_mistake_is_found(tmp_path: Path, report: Callable[[str], None], name: str) -> None:
    found: Exception | None = None
    tried = 0
    with planted(name) as kind:
        while found is None and tried < MOST_HISTORIES:
            try:
                take(tmp_path / str(tried), SEED + tried, kind=kind)
            except (DefectError, KeyError) as error:
                found = error
            tried += 1

    assert found is not None, f"{name}: not found in {tried} histories"
    report(f"mistake in tables, {name}: found in history {tried}")

"""Random histories of tables and replays under a hostile owner, and planted mistakes in them.

    tables    exports and audits, against the rows that an oracle expects in the table
    replays   replays that are killed and go on, against the records expected in the target

Each planted mistake must be found by these histories.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, NoReturn

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from deltalake import CommitProperties, Transaction

import cordwood
from cordwood.core.ports import Files
from cordwood.spark.jobs.table_audit import audit_job
from cordwood.spark.jobs.table_audit.audit_report import RowCount
from cordwood.spark.jobs.table_export import export_job, export_plan
from cordwood.spark.jobs.tables import delta_table, iceberg_table, table_ledger
from cordwood.spark.jobs.tables.delta_table import DeltaLakeTable
from cordwood.spark.jobs.tables.export_table import TableCommit
from cordwood.spark.jobs.tables.table_ledger import TableState, commit_metadata
from cordwood.spark.jobs.topic_replay import replay_job
from cordwood.spark.jobs.topic_replay.replay_plan import ReplayOptions, ReplayTask
from cordwood.spark.jobs.topic_replay.sent_offsets import SentOffsetsFile
from cordwood.spark.source import split_planning
from cordwood.spark.source.high_watermarks import HighWatermarks
from tests.spark.hostile_history import DefectError, History, replaced
from tests.spark.hostile_log_steps import take_history
from tests.spark.hostile_replays import ReplayHistory

if TYPE_CHECKING:
    from cordwood.spark.source.coverage import OffsetRange

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"

pytestmark = pytest.mark.timeout(14_400 if SOAK else 900)

SEED: Final = int(os.environ.get("CORDWOOD_SEED", "1"))
STEPS: Final = 12
#: Histories of each format, in CI and in soak.
HISTORIES: Final[Mapping[str, tuple[int, int]]] = {
    "parquet": (40, 4000),
    "delta": (36, 3500),
    "iceberg": (24, 2500),
}
#: Histories of replays, in CI and in soak.
REPLAYS: Final = (12, 3000)
REPLAY_STEPS: Final = 14
#: Histories that may pass before a planted mistake is found, and the first of them if it is late.
MOST_HISTORIES: Final = 60
LATE: Final[Mapping[str, int]] = {"contents not compared by a deep audit": 20}
#: Steps and outcomes that the histories of each format must have.
HAPPENINGS: Final = (
    "audit refused",
    "audit: faults",
    "audit: whole",
    "compaction",
    "deep audit: faults",
    "deep audit: whole",
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


#: The same of the histories of replays.
REPLAY_HAPPENINGS: Final = (
    "killed in a run",
    "records sent",
    "refused: is another topic",
    "refused: has a record of another producer",
    "refused: has lost records",
    "refused: has other records",
    "refused: is unmounted",
    "refused: nothing to compare",
    "replay ended",
    "resumed",
    "resumed after compaction",
)
#: Fewer histories have only these for certain.
FREQUENT_OF_REPLAYS: Final = ("killed in a run", "records sent", "replay ended", "resumed")
#: Seeds that a soak has found: a cleaner removed the first batch; records expired in a commit; a
#: snapshot of a forgotten history was restored; nothing was exported after one. Then: the state of
#: the properties was ahead by offsets without records.
KNOWN_SEEDS: Final = (
    ("delta", 20_073),
    ("parquet", 20_199),
    ("iceberg", 20_311),
    ("iceberg", 20_594),
    ("iceberg", 21_592),
)
FREQUENT: Final = ("audit: faults", "audit: whole", "records added", "refused", "retention")
ENOUGH: Final = 30


def take(folder: Path, seed: int, *, kind: str) -> Counter[str]:
    """Take one history, and return what happened in it; an error has what repeats it."""
    folder.mkdir()
    history = History(folder, seed, kind=kind)
    return take_history(history, folder, count=STEPS, repeated_by=f"CORDWOOD_SEED={seed}, {kind}")


def take_replays(folder: Path, seed: int, *, broker: cordwood.Broker, logs: Path) -> Counter[str]:
    """Take one history of replays, and return what happened in it."""
    folder.mkdir()
    history = ReplayHistory(folder, seed, broker=broker, logs=logs)
    words = f"CORDWOOD_SEED={seed}, replays"
    return take_history(history, folder, count=REPLAY_STEPS, repeated_by=words)


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


@pytest.mark.parametrize(("kind", "seed"), KNOWN_SEEDS)
def test_oracle_is_right_in_histories_that_it_misjudged(
    tmp_path: Path, kind: str, seed: int
) -> None:
    assert take(tmp_path / str(seed), seed, kind=kind)


@pytest.fixture(scope="module")
def target_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the log directory of the broker with the targets."""
    return tmp_path_factory.mktemp("targets")


@pytest.fixture(scope="module")
def broker(target_logs: Path) -> Iterator[cordwood.Broker]:
    """Start a broker for the targets of replays."""
    keeping = {"log.retention.ms": "-1"}  # the records are of 1970
    with cordwood.Broker(target_logs, config=keeping) as broker:
        yield broker


def test_replays_send_each_record_once_under_a_hostile_owner(
    tmp_path: Path, target_logs: Path, broker: cordwood.Broker, report: Callable[[str], None]
) -> None:
    seen: Counter[str] = Counter()
    count = REPLAYS[SOAK]

    for seed in range(SEED, SEED + count):
        seen += take_replays(tmp_path / str(seed), seed, broker=broker, logs=target_logs)

    expected = REPLAY_HAPPENINGS if count >= ENOUGH else FREQUENT_OF_REPLAYS
    assert [name for name in expected if not seen[name]] == []
    happened = ", ".join(f"{number} {name}" for name, number in sorted(seen.items()))
    report(f"{count} histories of replays: {happened}")


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


def _none(*_: object, **__: object) -> tuple[str, ...]:
    return ()


def _counted_progress(
    task: ReplayTask, options: ReplayOptions, files: Files
) -> tuple[SentOffsetsFile, int]:
    """Apply the number of sent records to the records that the source has now."""
    file = SentOffsetsFile(files, f"{options.state}.{task.target.partition}.sent")
    rows = [
        int(offset)
        for batch in replay_job._rows_from(task, 0, options, _nothing)  # noqa: SLF001  # as it was
        for offset in batch.column("offset").to_pylist()
    ]
    file.begin(task.done, rows[task.done - 1] if 0 < task.done <= len(rows) else None)
    return file, rows[task.done] if task.done < len(rows) else 1 << 62


def _from_the_options(wanted: "OffsetRange", *_: object) -> "OffsetRange":
    return wanted


#: A mistake: the format whose histories find it, and what it replaces.
MISTAKES: Final[Mapping[str, tuple[str, tuple[tuple[object, str, object], ...]]]] = {
    "state of another version in Delta": (
        "delta",
        ((delta_table, "_properties", _no_transaction),),
    ),
    "retries of the Iceberg table": ("iceberg", ((iceberg_table, "NO_RETRIES", {}),)),
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
    "contents not compared by a deep audit": (
        "parquet",
        ((audit_job, "_compared_columns", _none),),
    ),
    "progress of a replay by a count": ("replay", ((replay_job, "_progress", _counted_progress),)),
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
def test_planted_mistake_is_found(
    tmp_path: Path,
    target_logs: Path,
    broker: cordwood.Broker,
    report: Callable[[str], None],
    name: str,
) -> None:
    found: Exception | None = None
    tried, first = 0, SEED + LATE.get(name, 0)
    with planted(name) as kind:
        take_one = (
            partial(take_replays, broker=broker, logs=target_logs)
            if kind == "replay"
            else partial(take, kind=kind)
        )
        while found is None and tried < MOST_HISTORIES:
            try:
                take_one(tmp_path / str(tried), first + tried)
            except (DefectError, KeyError) as error:
                found = error
            tried += 1

    assert found is not None, f"{name}: not found in {tried} histories"
    report(f"mistake in tables, {name}: found in history {tried}")

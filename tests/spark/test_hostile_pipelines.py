"""Random histories of pipelines into tables under a hostile owner, and planted mistakes in them.

Continuous exports: appends into each format, and upserts by key into Delta and Iceberg.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from cordwood.spark.pipeline import delta_batches, table_writer
from cordwood.spark.pipeline.parquet_batches import ParquetBatches
from cordwood.spark.stream import stream_progress
from tests.spark.hostile_history import DefectError, replaced
from tests.spark.hostile_log_steps import take_history
from tests.spark.hostile_pipelines import PipelineHistory

SOAK: Final = os.environ.get("CORDWOOD_SOAK") == "1"

pytestmark = pytest.mark.timeout(14_400 if SOAK else 900)

SEED: Final = int(os.environ.get("CORDWOOD_SEED", "1"))
STEPS: Final = 16
#: Histories of each format, in CI and in soak.
HISTORIES: Final[Mapping[str, tuple[int, int]]] = {
    "parquet": (14, 4000),
    "delta": (12, 3500),
    "iceberg": (6, 2500),
}
#: Histories that may pass before a planted mistake is found, and the first of them if it is late.
MOST_HISTORIES: Final = 60
LATE: Final[Mapping[str, int]] = {
    "table ahead of its checkpoint": 15,
    "topic ids of a stream not compared": 4,
}
#: Steps and outcomes that the histories of each format must have.
HAPPENINGS: Final = (
    "batch repeated",
    "batch skipped",
    "checkpoint restored",
    "compaction",
    "failover",
    "killed after the commit",
    "killed after the plan",
    "killed in the tasks",
    "maintenance",
    "refused: ends before the position",
    "refused: has lost offsets",
    "refused: was made again",
    "rows added",
    "rows altered",
    "rows deleted",
    "table changed after a kill",
    "two drivers at once",
)
#: Fewer histories have only these for certain.
FREQUENT: Final = ("batch repeated", "batch skipped", "killed after the commit", "rows added")
ENOUGH: Final = 30


def take(folder: Path, seed: int, *, kind: str) -> Counter[str]:
    """Take one history, and return what happened in it; an error has what repeats it."""
    folder.mkdir()
    history = PipelineHistory(folder, seed, kind=kind)
    words = f"CORDWOOD_SEED={seed}, pipeline to {kind}"
    return take_history(history, folder, count=STEPS, repeated_by=words)


@pytest.mark.parametrize("kind", tuple(HISTORIES))
def test_pipelines_write_each_batch_once_under_a_hostile_owner(
    tmp_path: Path, report: Callable[[str], None], kind: str
) -> None:
    seen: Counter[str] = Counter()
    count = HISTORIES[kind][SOAK]

    for seed in range(SEED, SEED + count):
        seen += take(tmp_path / str(seed), seed, kind=kind)

    expected = HAPPENINGS if count >= ENOUGH else FREQUENT
    assert [name for name in expected if not seen[name]] == []
    happened = ", ".join(f"{number} {name}" for name, number in sorted(seen.items()))
    report(f"{count} histories of pipelines to {kind}: {happened}")


# -- planted mistakes


def _nothing(*_: object, **__: object) -> None:
    """Check nothing."""


def _is_never_written(*_: object, **__: object) -> bool:
    return False


def _newest(
    history: list[dict[str, object]], is_wanted: Callable[..., bool], **_: object
) -> object:
    return next((entry for entry in history if is_wanted(entry)), None)


#: A mistake: the format whose histories find it, and what it replaces.
MISTAKES: Final[Mapping[str, tuple[str, tuple[tuple[object, str, object], ...]]]] = {
    "repeated batch not recognised": (
        "delta",
        (
            (table_writer, "is_written", _is_never_written),
            (delta_batches, "is_written", _is_never_written),
        ),
    ),
    "restore of the table not noticed": ("delta", ((delta_batches, "newest_entry", _newest),)),
    "table ahead of its checkpoint": ("parquet", ((table_writer, "_ensure_same", _nothing),)),
    "interrupted moves not finished": ("parquet", ((ParquetBatches, "recover", _nothing),)),
    "topic ids of a stream not compared": (
        "parquet",
        ((stream_progress, "recreated_topics", lambda *_, **__: frozenset()),),
    ),
}


@contextmanager
def planted(name: str) -> Iterator[str]:
    """Plant a mistake; yield the format whose histories find it."""
    kind, replacements = MISTAKES[name]
    with ExitStack() as stack:
        for module, attribute, value in replacements:
            stack.enter_context(replaced(module, attribute, value))
        yield kind


@pytest.mark.parametrize("name", tuple(MISTAKES))
def test_planted_mistake_is_found(tmp_path: Path, report: Callable[[str], None], name: str) -> None:
    found: DefectError | None = None
    tried, first = 0, SEED + LATE.get(name, 0)
    with planted(name) as kind:
        while found is None and tried < MOST_HISTORIES:
            try:
                take(tmp_path / str(tried), first + tried, kind=kind)
            except DefectError as error:
                found = error
            tried += 1

    assert found is not None, f"{name}: not found in {tried} histories"
    report(f"mistake in pipelines, {name}: found in history {tried}")

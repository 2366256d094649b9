"""What `cordwood spark compact` leaves is what `cordwood compact` leaves, byte for byte."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cordwood.compaction.job import CleaningFailedError, Verify
from cordwood.compaction.passes import InlineRunner
from cordwood.compaction.plain import PLAIN
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.records.plain import PlainDecoder
from cordwood.spark.jobs.compact_order import CompactJobOrder
from cordwood.storage.clean_shutdown import CLEAN_SHUTDOWN
from cordwood.testing.clock import VirtualClock
from cordwood.workbench.compact import (
    CompactReport,
    CompactTools,
    PlaceToCompact,
    places_to_compact,
)
from cordwood.workbench.compact import compact as compact_here
from cordwood.workbench.settings_found import SettingsFinder
from tests.spark.keyed_logs import CONFIG, build_logs, contents, records_left
from tests.spark.kills import KILLS, MortalFiles, survive
from tests.unit.workbench.compact_samples import Unhindered

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.compacting import Compaction

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FILES = SystemFiles()
#: Between the sizes of the logs.
WHOLE_OF_SOME = 8200
ORDER = CompactJobOrder(verify=Verify.ALWAYS, seed=7, is_rolled=True, part_bytes=2000)


def places(world: Path) -> list[PlaceToCompact]:
    settings = SettingsFinder(FILES, given=CONFIG)
    return places_to_compact(FILES, map(str, sorted(world.glob("t-*"))), settings=settings)


def by_one_process(world: Path) -> list[CompactReport]:
    tools = CompactTools(
        files=FILES,
        clock=VirtualClock(),
        random=SystemRandom(),
        runner=InlineRunner(FILES, PLAIN),
        control=Unhindered(),
        decoder=PlainDecoder(),
    )
    return [compact_here(tools, path, found=found, order=ORDER) for path, found in places(world)]


def by_spark(
    spark: "SparkSession", world: Path, *, whole_bytes: int = 1 << 30, files: SystemFiles = FILES
) -> "Compaction":
    from cordwood.spark.jobs.compacting import Ground, compact  # noqa: PLC0415  # needs pyspark

    ground = Ground(spark=spark, files=files, clock=VirtualClock())
    return compact(ground, places(world), order=replace(ORDER, whole_bytes=whole_bytes))


def told(reports: "list[CompactReport] | tuple[CompactReport, ...]") -> list[object]:
    """Return what certificates say, but for how key maps went about it."""
    return [
        (each.certificate.counts, each.certificate.keys, each.certificate.verified)
        for each in reports
        if each.certificate is not None
    ]


@pytest.mark.parametrize("whole_bytes", (1 << 30, 0))
def test_job_leaves_the_bytes_that_one_process_leaves(
    spark: "SparkSession", tmp_path: Path, whole_bytes: int
) -> None:
    """The logs are taken whole, a task each, and shared out, in parts of a few batches."""
    for name in ("one", "many"):
        build_logs(tmp_path / name)

    reports = by_one_process(tmp_path / "one")
    done = by_spark(spark, tmp_path / "many", whole_bytes=whole_bytes)

    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert told(done.reports) == told(reports)
    assert len(told(reports)) == 4
    assert done.failures == ()


@pytest.mark.parametrize("whole_bytes", (1 << 30, 0))
def test_damage_is_named_and_keeps_no_other_log_from_its_turn(
    spark: "SparkSession", tmp_path: Path, whole_bytes: int
) -> None:
    build_logs(tmp_path)
    damaged = sorted((tmp_path / "t-1").glob("*.log"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\xff")
    before = contents(tmp_path)

    done = by_spark(spark, tmp_path, whole_bytes=whole_bytes)

    (failure,) = done.failures
    assert isinstance(failure, CleaningFailedError)
    assert str(failure).startswith(f"{damaged}: ")
    assert len(done.reports) == 3
    assert {name: each for name, each in contents(tmp_path).items() if "t-1/" in name} == {
        name: each for name, each in before.items() if "t-1/" in name
    }


def test_damage_of_a_log_that_nobody_closed_is_not_cut_off(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Whoever opens such a log cuts its end off; what is whole behind damage is no such end."""
    build_logs(tmp_path)
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    damaged = sorted((tmp_path / "t-1").glob("*.log"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\xff")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "t-1").glob("*.log"))}

    done = by_spark(spark, tmp_path)

    (failure,) = done.failures
    assert str(failure).startswith(f"{damaged}: damage, and whole batches behind it; no record was")
    assert len(done.reports) == 3
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("name", "whole_bytes"), (("compact", WHOLE_OF_SOME), ("compact, shared out", 0))
)
def test_job_that_is_killed_and_run_again_leaves_the_same_records(
    spark: "SparkSession",
    tmp_path: Path,
    report: Callable[[str], None],
    name: str,
    whole_bytes: int,
) -> None:
    """At first about half of the logs are taken whole, then none is."""

    def job(world: Path, files: MortalFiles) -> None:
        by_spark(spark, world, whole_bytes=whole_bytes, files=files)

    kills = survive(job, build_logs, look=records_left, folder=tmp_path, kills=KILLS[name])

    report(f"{name}: {kills}")
    assert not list(tmp_path.rglob("cleaning-*"))

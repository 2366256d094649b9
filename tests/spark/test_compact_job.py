"""The job `compact` leaves the same bytes as `cordwood compact`."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, Verify
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.ports import Ports
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.spark.jobs.compaction.compact_order import CompactJobOrder
from cordwood.storage.checkpoints.clean_shutdown_file import CLEAN_SHUTDOWN
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.compact import (
    CompactReport,
    CompactTarget,
    find_compact_targets,
)
from cordwood.workbench.compact import compact as compact_here
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.spark.keyed_logs import CONFIG, build_logs, contents, records_left
from tests.spark.kills import KILLS, KillableFiles, survive
from tests.unit.workbench.compact_samples import PLAIN_READERS, IdlePassControl

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from cordwood.spark.jobs.compaction.compact_job import Compaction

pytestmark = [pytest.mark.spark, pytest.mark.timeout(300)]

FILES = SystemFiles()
#: Between the sizes of the logs, so that some are distributed.
WHOLE_OF_SOME = 8200
ORDER = CompactJobOrder(verify=Verify.ALWAYS, seed=7, is_rolled=True, part_bytes=2000)


def places(world: Path) -> list[CompactTarget]:
    settings = SettingsFinder(FILES, given=CONFIG)
    return find_compact_targets(FILES, map(str, sorted(world.glob("t-*"))), settings=settings)


def by_one_process(world: Path) -> list[CompactReport]:
    runner = InlineRunner(FILES, PLAIN)
    compact_one = partial(
        compact_here,
        Ports(files=FILES, clock=VirtualClock(), random=SystemRandom()),
        order=ORDER,
        readers=PLAIN_READERS,
        run=partial(runner.run, control=IdlePassControl()),
    )
    return [compact_one(path, found=found) for path, found in places(world)]


def by_spark(
    spark: "SparkSession", world: Path, *, whole_bytes: int = 1 << 30, files: SystemFiles = FILES
) -> "Compaction":
    from cordwood.spark.jobs.compaction.compact_job import compact_partitions  # noqa: PLC0415  # needs pyspark

    ports = Ports(files=files, clock=VirtualClock(), random=SystemRandom())
    order = replace(ORDER, whole_bytes=whole_bytes)
    return compact_partitions(spark, places(world), ports=ports, order=order)


def certified(reports: "list[CompactReport] | tuple[CompactReport, ...]") -> list[object]:
    """Return the certificates without the details of their key maps."""
    return [
        (each.certificate.counts, each.certificate.keys, each.certificate.verified)
        for each in reports
        if each.certificate is not None
    ]


@pytest.mark.parametrize("whole_bytes", (1 << 30, 0))
def test_job_writes_the_same_bytes_as_one_process(
    spark: "SparkSession", tmp_path: Path, whole_bytes: int
) -> None:
    """Logs are compacted whole, one per task, or distributed in parts of a few batches."""
    for name in ("one", "many"):
        build_logs(tmp_path / name)

    reports = by_one_process(tmp_path / "one")
    done = by_spark(spark, tmp_path / "many", whole_bytes=whole_bytes)

    assert contents(tmp_path / "many") == contents(tmp_path / "one")
    assert certified(done.reports) == certified(reports)
    assert len(certified(reports)) == 4
    assert done.failures == ()


@pytest.mark.parametrize("whole_bytes", (1 << 30, 0))
def test_damage_is_named_and_other_logs_are_compacted(
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


def test_damage_after_an_unclean_shutdown_is_not_truncated(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Recovery truncates a torn end; valid batches after damage are not a torn end."""
    build_logs(tmp_path)
    (tmp_path / CLEAN_SHUTDOWN).unlink()
    damaged = sorted((tmp_path / "t-1").glob("*.log"))[1]
    damaged.write_bytes(damaged.read_bytes()[:-1] + b"\xff")
    before = {path: path.read_bytes() for path in sorted((tmp_path / "t-1").glob("*.log"))}

    done = by_spark(spark, tmp_path)

    (failure,) = done.failures
    assert str(failure).startswith(
        f"{damaged}: a corrupt batch is followed by valid batches (nothing"
    )
    assert len(done.reports) == 3
    assert {path: path.read_bytes() for path in before} == before


@pytest.mark.timeout(7200)
@pytest.mark.parametrize(
    ("name", "whole_bytes"), (("compact", WHOLE_OF_SOME), ("compact, distributed", 0))
)
def test_killed_job_writes_the_same_records_after_another_run(
    spark: "SparkSession",
    tmp_path: Path,
    report: Callable[[str], None],
    name: str,
    whole_bytes: int,
) -> None:
    """First about half of the logs are compacted whole, then none."""

    def job(world: Path, files: KillableFiles) -> None:
        by_spark(spark, world, whole_bytes=whole_bytes, files=files)

    kills = survive(job, build_logs, look=records_left, folder=tmp_path, kills=KILLS[name])

    report(f"{name}: {kills}")
    assert not list(tmp_path.rglob("cleaning-*"))

"""The job `convert` leaves the bytes of the workbench, also after kills."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.records.compression import Codec
from cordwood.workbench.convert.batch_converter import ConvertOptions
from cordwood.workbench.convert.convert import convert
from tests.spark.kills import KILLS, KillableFiles, survive
from tests.unit.cli.commands import run
from tests.unit.workbench.convert_samples import log_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WANTED = ConvertOptions(codec=Codec.ZSTD, level=7)


def build(world: Path) -> None:
    """Write three partitions, from files in memory."""
    files = log_directory()
    for partition in ("t-0", "t-1", "u-0"):
        folder = world / "logs" / partition
        folder.mkdir(parents=True)
        for name in files.list("/d/t-0"):
            file = files.open(f"/d/t-0/{name}")
            (folder / name).write_bytes(file.pread(file.size, 0))


def look(out: Path) -> dict[str, bytes]:
    files = (path for path in out.rglob("*") if path.is_file())
    return {str(path.relative_to(out)): path.read_bytes() for path in files}


def test_job_writes_the_same_bytes_as_the_workbench(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    build(tmp_path)
    monkeypatch.chdir(tmp_path)
    logs, out = [str(tmp_path / "logs")], str(tmp_path / "here")
    report = convert(SystemFiles(), logs, out=out, options=WANTED, random=SystemRandom())
    words = ("spark", "convert", "logs", "--out", "there", "--codec", "zstd", "--level", "7")

    said = run(words, monkeypatch, capfd)

    assert spark.getActiveSession() is spark
    assert said.out == str(report).replace(f"{tmp_path}/here", f"{tmp_path}/there") + "\n"
    assert look(tmp_path / "there") == look(tmp_path / "here")
    assert len(look(tmp_path / "there")) > 30


@pytest.mark.timeout(7200)
def test_killed_job_writes_the_same_files_after_another_run(
    spark: "SparkSession", tmp_path: Path, report: Callable[[str], None]
) -> None:
    from cordwood.spark.jobs import convert_job  # noqa: PLC0415  # needs pyspark

    def job(world: Path, files: KillableFiles) -> None:
        logs, out = [str(world / "logs")], str(world / "new")
        convert_job.convert_paths(spark, logs, out=out, options=WANTED, files=files)

    kills = survive(
        job,
        build,
        look=lambda world: look(world / "new"),
        folder=tmp_path,
        kills=KILLS["convert"],
    )

    report(f"convert: {kills}")

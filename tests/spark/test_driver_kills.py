"""Commands whose driver is killed leave the same result after another run."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import cordwood
from tests.spark.driver_kills import CommandDrill, ensure_gone, killed_once, survive_without_driver
from tests.spark.keyed_logs import CONFIG, build_logs, records_left
from tests.spark.kills import KILLS
from tests.spark.orders import broker_of_orders
from tests.spark.workers import below
from tests.test_workbench_page import build_logs as build_damaged_logs
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(7200)

RECORDS = 10_000
Give = Callable[[tuple[str, ...]], object]


@pytest.fixture
def give(
    spark: "SparkSession", monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Give:
    """Return a function that runs a command in the session of the tests, and checks its success."""

    def give(words: tuple[str, ...]) -> str:
        assert spark.getActiveSession() is spark
        output = run(words, monkeypatch, capfd)
        assert output.code == 0, output.err
        return output.out

    return give


def contents(world: Path) -> dict[str, bytes]:
    files = (path for path in world.rglob("*") if path.is_file())
    return {str(path.relative_to(world)): path.read_bytes() for path in files}


def test_compaction(give: Give, tmp_path: Path, report: Callable[[str], None]) -> None:
    """Half of the logs are compacted whole, the others are distributed."""
    config = tuple(word for pair in CONFIG.items() for word in ("--config", "=".join(pair)))
    how = ("--whole-bytes", "8200", "--roll", "--verify", "always", *config)

    drill = CommandDrill(
        words=lambda world: ("spark", "compact", *map(str, sorted(world.glob("t-*"))), *how),
        build=build_logs,
        look=records_left,
        run=give,
    )
    kills = survive_without_driver(drill, folder=tmp_path, kills=KILLS["driver of compact"])

    report(f"driver of compact: {kills}")


def is_converted(out: Path) -> bool:
    """Return whether a conversion is finished: partitions exist, and its plan does not."""
    return (out / "t-0").exists() and not (out / ".converting.json").exists()


def test_conversion(give: Give, tmp_path: Path, report: Callable[[str], None]) -> None:
    def words(world: Path) -> tuple[str, ...]:
        logs, out = str(world / "logs"), str(world / "new")
        return ("spark", "convert", logs, "--out", out, "--codec", "zstd", "--level", "7")

    drill = CommandDrill(
        words=words,
        build=lambda world: build_logs_in(world / "logs"),
        look=lambda world: contents(world / "new"),
        run=give,
        is_done=lambda world: is_converted(world / "new"),
    )
    kills = survive_without_driver(drill, folder=tmp_path, kills=KILLS["driver of convert"])

    report(f"driver of convert: {kills}")


def build_logs_in(folder: Path) -> None:
    folder.mkdir()
    build_logs(folder)


@pytest.mark.parametrize("kind", ("parquet", "delta", "iceberg"))
def test_export(give: Give, tmp_path: Path, report: Callable[[str], None], kind: str) -> None:
    from tests.spark.test_export_kills import begin, look  # noqa: PLC0415  # needs pyspark

    small = ("commitBytes=1", "fileBytes=1", "maxRecordsPerPartition=4")
    how = (*(word for option in small for word in ("--option", option)), "--format", kind)
    named = ("--table", "logs.orders") if kind == "iceberg" else ()

    def words(world: Path) -> tuple[str, ...]:
        where = (str(world / "logs"), "--to", str(world / "lake"), "--partition-by", "partition")
        return ("spark", "export", *where, *how, *named)

    name = f"driver of export to {kind}"
    drill = CommandDrill(words=words, build=begin, look=partial(look, kind=kind), run=give)
    kills = survive_without_driver(drill, folder=tmp_path, kills=KILLS[name])

    report(f"{name}: {kills}")


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[cordwood.Broker]:
    """Start a broker with a topic of two partitions."""
    with broker_of_orders(tmp_path / "logs", RECORDS) as broker:
        yield broker


def test_replay(
    give: Give, broker: cordwood.Broker, tmp_path: Path, report: Callable[[str], None]
) -> None:
    from tests.spark.test_replay_job import create, records  # noqa: PLC0415  # needs pyspark

    def words(world: Path) -> tuple[str, ...]:
        to = ("--topic", "orders", "--to", world.name, "--bootstrap-server", broker.address)
        how = ("--state", str(world / "state"), "--rate", "2000")
        return ("spark", "replay", str(tmp_path / "logs"), *to, *how)

    def size(topic: str) -> int:
        return sum(file.stat().st_size for file in tmp_path.glob(f"logs/{topic}-[01]/*.log"))

    def sent(world: Path) -> int:
        """Count bytes of the first half, so that an orphan has much left to send."""
        return min(size(world.name), size("orders") // 2)

    drill = CommandDrill(
        words=words,
        build=lambda world: create(broker, world.name),
        look=lambda world: records(broker, world.name),
        run=give,
        gauge=lambda world: partial(sent, world),
    )
    kills = survive_without_driver(drill, folder=tmp_path, kills=KILLS["driver of replay"])

    assert records(broker, "undisturbed") == records(broker, "orders")
    report(f"driver of replay: {kills}")


@pytest.mark.parametrize("verb", ("verify", "audit"))
def test_killed_read_only_job_changes_no_files(
    give: Give, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    """The driver dies while its workers run."""
    build_damaged_logs(tmp_path / "logs")
    logs, lake = str(tmp_path / "logs" / "orders-0"), str(tmp_path / "lake")
    give(("spark", "export", logs, "--to", lake))
    words = {"verify": ("spark", "verify", logs), "audit": ("spark", "audit", logs, "--of", lake)}
    monkeypatch.chdir(tmp_path)
    before, expected = contents(tmp_path), give(words[verb])

    def is_at_work(driver: int) -> bool:
        return any(is_worker(each) for each in below(driver))

    family = killed_once(is_at_work, words[verb])

    assert family is not None
    ensure_gone(family)
    assert contents(tmp_path) == before
    assert give(words[verb]) == expected


def is_worker(process: int) -> bool:
    """Return whether a process is a Python worker of Spark."""
    try:
        return b"pyspark.daemon" in Path(f"/proc/{process}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return False

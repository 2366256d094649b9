"""Spark's standalone cluster, two worker processes, and the package shipped to them.

The program that is submitted finds the package where the tests do; executors are told nothing of
that, and have it from what Spark brings to each of them.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import pytest

import cordwood
from tests.spark.keyed_logs import build_log
from tests.unit.compaction.compaction_samples import batch
from tests.unit.spark.jobs.export_samples import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

SOURCES: Final = Path(__file__).parents[2] / "src"
#: Given as a path: what is installed in there by a link is not found.
LIBRARIES: Final = sysconfig.get_path("purelib")
COMMAND: Final = SOURCES / "cordwood" / "__main__.py"
PROGRAM: Final = Path(__file__).with_name("cluster_program.py")
DEPLOY: Final = "org.apache.spark.deploy"
PATIENCE_S: Final = 120
PARTITIONS: Final = 3
BATCHES: Final = 40
SMALL: Final = (
    *("--conf", "spark.executor.memory=512m", "--conf", "spark.log.level=ERROR"),
    *("--conf", "spark.sql.shuffle.partitions=2"),
    *("--conf", "spark.executorEnv.NUMBA_DISABLE_JIT=1"),  # each would compile, for so few records
)
#: What a worker says that has the package in a zip.
SLOWLY: Final = "cordwood: plain Python reads here"
RECORDS: Final = 5 * PARTITIONS * BATCHES


class Said(NamedTuple):
    """How a program ended, and what it printed."""

    code: int
    out: str
    err: str


class Cluster:
    """A master and two workers, each a process, on loopback."""

    def __init__(self, folder: Path) -> None:
        pyspark = pytest.importorskip("pyspark", reason="the extra spark is not installed")
        self.home = Path(pyspark.__file__).parent
        self._folder = folder
        self.master = f"spark://127.0.0.1:{free_port()}"

    @contextmanager
    def running(self) -> Iterator["Cluster"]:
        with ExitStack() as processes:
            port = self.master.rpartition(":")[2]
            master = ("--host", "127.0.0.1", "--port", port, "--webui-port", "0")
            processes.enter_context(self._process(f"{DEPLOY}.master.Master", master, "master"))
            for number in range(2):
                place = ("--work-dir", str(self._folder / f"work-{number}"), "--webui-port", "0")
                worker = ("--host", "127.0.0.1", "-c", "1", "-m", "1g", *place, self.master)
                words = f"worker-{number}"
                processes.enter_context(self._process(f"{DEPLOY}.worker.Worker", worker, words))
            yield self

    def submit(self, program: Path, *arguments: str, options: Sequence[str]) -> Said:
        """Run a program as spark-submit does, and return how it ends and what it prints."""
        command = [str(self.home / "bin" / "spark-submit"), "--master", self.master, *options]
        done = subprocess.run(
            [*command, str(program), *arguments],
            cwd=self._folder,
            env={**self._environment(), "PYTHONPATH": os.pathsep.join((str(SOURCES), LIBRARIES))},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        return Said(done.returncode, done.stdout, done.stderr)

    def said_by_workers(self, words: str) -> list[int]:
        """Return how often each executor's Python has said this."""
        logs = self._folder.glob("work-*/app-*/*/stderr")
        return [count for each in logs if (count := each.read_text().count(words))]

    @contextmanager
    def _process(self, main: str, arguments: tuple[str, ...], words: str) -> Iterator[None]:
        command = [str(self.home / "bin" / "spark-class"), main, *arguments]
        with (self._folder / f"{words}.txt").open("wb") as file:
            process = subprocess.Popen(command, env=self._environment(), stdout=file, stderr=file)
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def _environment(self) -> dict[str, str]:
        """What processes of Spark are given: none of them is told where the package is.

        Their Python is the one that the environment was made from, so it installs nothing.
        """
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return {
            **kept,
            "PYSPARK_PYTHON": str(Path(sys.executable).resolve()),
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
        }


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with Cluster(tmp_path_factory.mktemp("cluster")).running() as cluster:
        yield cluster


def build_world(world: Path) -> None:
    """Write what jobs are done on: logs that are whole, one that is not, and some with keys."""
    texts = (" ".join(f"{word}{number}" for word in "abcde") for number in range(BATCHES))
    batches = [batch(5 * number, text) for number, text in enumerate(texts)]
    for partition in range(PARTITIONS):
        write_log(world / "logs", *batches, partition=f"orders-{partition}")
    write_log(world / "hurt", batches[0], batches[1][:-1] + b"?")
    for number in range(2):
        build_log(world / "keyed" / f"t-{number}", seed=number)


@contextmanager
def a_world(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield a folder of logs and the address of a broker that has topics to write to."""
    build_world(path)
    keeping = {"log.retention.ms": "-1"}  # the records are of 2023
    with cordwood.Broker(path / "broker", config=keeping) as broker:
        with cordwood.Admin(broker.address) as admin:
            for topic in ("copies", "again"):
                admin.create_topic(topic, partitions=PARTITIONS)
        yield path, broker.address


def as_archive(folder: Path) -> tuple[str, ...]:
    """Return what ships the package unpacked."""
    archive = shutil.make_archive(str(folder / "cordwood"), "gztar", SOURCES)
    found = f"spark.executorEnv.PYTHONPATH=./shipped{os.pathsep}{LIBRARIES}"
    return ("--archives", f"{archive}#shipped", "--conf", found)


def as_zip(folder: Path) -> tuple[str, ...]:
    """Return what ships the package packed."""
    packed = shutil.make_archive(str(folder / "cordwood"), "zip", SOURCES)
    found = f"spark.executorEnv.PYTHONPATH={LIBRARIES}"
    return ("--py-files", packed, "--conf", found)


def test_all_is_answered_from_an_archive_as_it_is_without_a_cluster(
    cluster: Cluster, spark: "SparkSession", tmp_path: Path
) -> None:
    from tests.spark.cluster_program import answers  # noqa: PLC0415  # needs pyspark

    with a_world(tmp_path / "shipped") as (world, broker):
        options = (*SMALL, *as_archive(tmp_path))
        said = cluster.submit(PROGRAM, str(world), broker, options=options)
    assert said.code == 0, said.err[-4000:]
    told = json.loads(said.out)

    with a_world(tmp_path / "here") as (world, broker):
        expected = answers(spark, world, broker)

    places = told.pop("places")
    assert len(places) == 2
    assert all("/shipped/cordwood/" in place for place in places)
    assert told == json.loads(json.dumps(expected))
    assert told["read"][0] == told["counted"] == told["sunk"] == told["arrived"] == RECORDS


def test_zip_of_the_sources_does_for_a_command_but_slowly_and_says_so(
    cluster: Cluster, tmp_path: Path
) -> None:
    build_world(tmp_path)
    asked = ("spark", "verify", str(tmp_path / "logs"), str(tmp_path / "hurt"))

    said = cluster.submit(COMMAND, *asked, options=(*SMALL, *as_zip(tmp_path)))

    assert said.code == 1, said.err[-4000:]
    assert said.out.count("good: ") == PARTITIONS
    assert "hurt/orders-0/00000000000000000000.log: the checksum is wrong" in said.out
    assert set(cluster.said_by_workers(SLOWLY)) == {1}

"""Spark's standalone cluster with two worker processes, and the methods to ship the package.

The submitted program uses the package of the tests. Executors do not: they use the archive that
Spark ships to them.
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
from tests.spark_session import QUICK
from tests.unit.compaction.compaction_samples import batch
from tests.unit.spark.jobs.export_samples import write_log

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(600)

SOURCES: Final = Path(__file__).parents[2] / "src"
#: Given as a path, because a linked installation in it is not found.
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
    *("--conf", f"spark.executor.extraJavaOptions={QUICK}"),
)
#: A part of the warning of a worker without the library of kernels.
PLAIN: Final = "records are read in plain Python"
RECORDS: Final = 5 * PARTITIONS * BATCHES


class ProgramOutput(NamedTuple):
    """The exit code and the output of a program."""

    code: int
    out: str
    err: str


class SparkCluster:
    """A master and two workers, each a process, on loopback."""

    def __init__(self, folder: Path) -> None:
        pyspark = pytest.importorskip("pyspark", reason="the extra spark is not installed")
        self.home = Path(pyspark.__file__).parent
        self._folder = folder
        self.master = f"spark://127.0.0.1:{free_port()}"

    @contextmanager
    def running(self) -> Iterator["SparkCluster"]:
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

    def submit(self, program: Path, *arguments: str, options: Sequence[str]) -> ProgramOutput:
        """Run a program with spark-submit, and return its exit code and output."""
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
        return ProgramOutput(done.returncode, done.stdout, done.stderr)

    def worker_lines(self, text: str) -> list[int]:
        """Return how often each executor's log contains a text."""
        logs = self._folder.glob("work-*/app-*/*/stderr")
        return [count for each in logs if (count := each.read_text().count(text))]

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
        """Return the environment of Spark's processes, without the path of the package.

        Their Python is the base of the virtual environment, in which the package is not installed.
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
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    with SparkCluster(tmp_path_factory.mktemp("cluster")).running() as cluster:
        yield cluster


def build_world(world: Path) -> None:
    """Write the input of jobs: valid logs, a damaged one, and some with keys."""
    texts = (" ".join(f"{word}{number}" for word in "abcde") for number in range(BATCHES))
    batches = [batch(5 * number, text) for number, text in enumerate(texts)]
    for partition in range(PARTITIONS):
        write_log(world / "logs", *batches, partition=f"orders-{partition}")
    write_log(world / "hurt", batches[0], batches[1][:-1] + b"?")
    for number in range(2):
        build_log(world / "keyed" / f"t-{number}", seed=number)


@contextmanager
def a_world(path: Path) -> Iterator[tuple[Path, str]]:
    """Yield a folder of logs and the address of a broker with topics to write to."""
    build_world(path)
    keeping = {"log.retention.ms": "-1"}  # the records are of 2023
    with cordwood.Broker(path / "broker", config=keeping) as broker:
        with cordwood.Admin(broker.address) as admin:
            for topic in ("copies", "again"):
                admin.create_topic(topic, partitions=PARTITIONS)
        yield path, broker.address


def as_archive(folder: Path) -> tuple[str, ...]:
    """Return the options that ship the package unpacked."""
    archive = shutil.make_archive(str(folder / "cordwood"), "gztar", SOURCES)
    found = f"spark.executorEnv.PYTHONPATH=./shipped{os.pathsep}{LIBRARIES}"
    return ("--archives", f"{archive}#shipped", "--conf", found)


def as_zip(folder: Path) -> tuple[str, ...]:
    """Return the options that ship the package in a zip."""
    packed = shutil.make_archive(str(folder / "cordwood"), "zip", SOURCES)
    found = f"spark.executorEnv.PYTHONPATH={LIBRARIES}"
    return ("--py-files", packed, "--conf", found)


def test_cluster_with_a_shipped_archive_has_the_same_results_as_a_local_session(
    cluster: SparkCluster, spark: "SparkSession", tmp_path: Path
) -> None:
    from tests.spark.cluster_program import answers  # noqa: PLC0415  # needs pyspark

    with a_world(tmp_path / "shipped") as (world, broker):
        options = (*SMALL, *as_archive(tmp_path))
        output = cluster.submit(PROGRAM, str(world), broker, options=options)
    assert output.code == 0, output.err[-4000:]
    results = json.loads(output.out)

    with a_world(tmp_path / "here") as (world, broker):
        expected = answers(spark, world, broker)

    places = results.pop("places")
    assert len(places) == 2
    assert all("/shipped/cordwood/" in place for place in places)
    assert results == json.loads(json.dumps(expected))
    assert results["read"][0] == results["counted"] == RECORDS
    assert results["sunk"] == results["arrived"] == RECORDS


def test_zip_of_the_sources_has_the_kernels(cluster: SparkCluster, tmp_path: Path) -> None:
    build_world(tmp_path)
    asked = ("spark", "verify", str(tmp_path / "logs"), str(tmp_path / "hurt"))

    output = cluster.submit(COMMAND, *asked, options=(*SMALL, *as_zip(tmp_path)))

    assert output.code == 1, output.err[-4000:]
    assert output.out.count("good: ") == PARTITIONS
    assert "hurt/orders-0/00000000000000000000.log: the checksum is wrong" in output.out
    assert cluster.worker_lines(PLAIN) == []

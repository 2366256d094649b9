"""Spark's standalone cluster, two worker processes, and the package shipped as an archive.

The program that is submitted finds the package where the tests do; executors are told nothing of
that, and have it from the archive that Spark unpacks for each of them.
"""

import json
import os
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import pytest

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

pytestmark = pytest.mark.timeout(600)

SOURCES: Final = Path(__file__).parents[2] / "src"
PROGRAM: Final = Path(__file__).with_name("cluster_program.py")
DEPLOY: Final = "org.apache.spark.deploy"
PATIENCE_S: Final = 120
RECORDS: Final = 400


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

    def submit(self, program: Path, *arguments: str, conf: dict[str, str]) -> str:
        """Run a program as spark-submit does, and return what it prints."""
        settings = [part for key, value in conf.items() for part in ("--conf", f"{key}={value}")]
        command = [str(self.home / "bin" / "spark-submit"), "--master", self.master, *settings]
        done = subprocess.run(
            [*command, str(program), *arguments],
            cwd=self._folder,
            env={**self._environment(), "PYTHONPATH": str(SOURCES)},
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )
        assert done.returncode == 0, done.stderr[-4000:]
        return done.stdout

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
        """What processes of Spark are given: none of them is told where the package is."""
        kept = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        return {
            **kept,
            "PYSPARK_PYTHON": sys.executable,
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


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Four partitions on a path that driver and executors share."""
    for partition in range(4):
        folder = tmp_path / "logs" / f"orders-{partition}"
        folder.mkdir(parents=True)
        (folder / name(0)).write_bytes(b"".join(map(v2, range(RECORDS // 4))))
    return tmp_path / "logs"


def test_package_is_shipped_to_executors_as_an_archive(
    cluster: Cluster, logs: Path, tmp_path: Path
) -> None:
    shutil.make_archive(str(tmp_path / "cordwood"), "gztar", SOURCES)
    archive = f"{tmp_path / 'cordwood.tar.gz'}#shipped"
    conf = {
        "spark.archives": archive,
        "spark.executorEnv.PYTHONPATH": "./shipped",
        "spark.executorEnv.NUMBA_DISABLE_JIT": "1",  # each would compile, for so few records
        "spark.executor.memory": "512m",
        "spark.log.level": "ERROR",
    }

    said = json.loads(cluster.submit(PROGRAM, str(logs), conf=conf))

    assert said["records"] == said["scanned"] == RECORDS
    assert not said["is_damaged"]
    assert len(said["places"]) == 2
    assert all("/shipped/cordwood/" in place for place in said["places"])

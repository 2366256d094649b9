"""`cordwood cluster up` as a person runs it: three brokers, one of which is killed."""

import os
import re
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path

import pytest

import cordwood
from tests.interop.kafka_harness.patience import wait_for_result
from tests.serving import CORDWOOD

pytestmark = pytest.mark.timeout(300)


def pid_of(folder: Path) -> int:
    """Return the process that serves from a folder."""
    for each in Path("/proc").glob("[0-9]*"):
        try:
            words = (each / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it has ended
        if b"serve" in words and str(folder / "data").encode() in words:
            return int(each.name)
    raise AssertionError(f"no broker serves from {folder}")


@contextmanager
def cluster_up(folder: Path) -> Iterator["subprocess.Popen[str]"]:
    """Run the command, and interrupt it in the end."""
    command = [*CORDWOOD, "cluster", "up", "--data", str(folder)]
    command += ["--base-port", "0", "--zookeeper-port", "0"]
    command += ["--set", "zookeeper.session.timeout.ms=4000"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as cluster:
        try:
            yield cluster
        finally:
            cluster.send_signal(signal.SIGINT)
        assert cluster.wait(120) == 0


def bootstrap_of(cluster: "subprocess.Popen[str]") -> str:
    assert cluster.stdout is not None
    return next(
        found[1]
        for line in cluster.stdout
        if (found := re.match(r"bootstrap +(\S+)", line)) is not None
    )


def status_code(bootstrap: str) -> int:
    command = [*CORDWOOD, "cluster", "status", "--bootstrap-server", bootstrap, "--json"]
    return subprocess.run(command, capture_output=True, check=False).returncode


def test_cluster_serves_through_the_loss_of_a_broker(tmp_path: Path) -> None:
    with cluster_up(tmp_path / "cluster") as cluster:
        bootstrap = bootstrap_of(cluster)
        with cordwood.Admin(bootstrap) as admin:
            topic = admin.create_topic("orders", partitions=3)
        assert topic.replication_factor == 3
        with cordwood.Producer(bootstrap, acks="all") as producer:
            producer.send("orders", b"before").result()

            os.kill(pid_of(tmp_path / "cluster/broker-2"), signal.SIGKILL)

            assert cluster.stderr is not None
            assert "broker 2 has ended with code -9" in cluster.stderr.readline()
            for partition in range(3):
                producer.send("orders", b"after", partition=partition).result()
        wait_for_result(partial(status_code, bootstrap), 1)

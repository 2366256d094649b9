"""Spark Connect: all features over the protocol, in a server of its own."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.spark.cluster_program import TABLES
from tests.spark.test_cluster import RECORDS, a_world

pytestmark = pytest.mark.timeout(600)

PROGRAM = Path(__file__).with_name("connect_program.py")
ROOT = Path(__file__).parents[2]


def test_spark_connect_has_all_features(tmp_path: Path) -> None:
    """The source is found without `register`, and relative paths are those of the client."""
    pytest.importorskip("grpc_status", reason="the extra connect is not installed")
    paths = [str(ROOT / "src"), str(ROOT), os.environ.get("PYTHONPATH", "")]
    own = {"PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(paths)}
    environment = {**os.environ, **own}
    with a_world(tmp_path) as (folder, broker):
        done = subprocess.run(
            [sys.executable, str(PROGRAM), str(folder), broker],
            cwd=folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=500,
        )

    assert done.returncode == 0, done.stderr[-3_000:]
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert "logs is a relative path" in found["refused"]
    assert len(found["refused"].strip().splitlines()) == 2
    counts = ("loaded", "selected", "relative", "streamed", "counted", "sunk", "arrived")
    assert {name: found[name] for name in counts} == dict.fromkeys(counts, RECORDS)
    assert found["explained"].startswith(f"read of {folder}/logs: 3 partitions, ")
    assert {kind: found[kind][:2] for kind in TABLES} == {kind: [RECORDS, True] for kind in TABLES}
    assert json.loads(found["verified"])

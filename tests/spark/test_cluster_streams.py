"""Streams on a standalone cluster of two workers that run the package of an archive."""

import json
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from deltalake import DeltaTable

import cordwood
from tests.spark.test_cluster import SMALL, SparkCluster, as_archive

pytestmark = pytest.mark.timeout(600)

PROGRAM: Final = Path(__file__).with_name("cluster_stream_program.py")
RECORDS: Final = 500


def test_stream_and_pipeline_have_each_row_once_although_a_worker_is_killed(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    values = [b"%d" % number for number in range(RECORDS)]
    with (
        cordwood.Broker(tmp_path / "logs", config={"num.partitions": 2}) as broker,
        SparkCluster(tmp_path_factory.mktemp("cluster")).running() as cluster,
    ):
        with cordwood.Producer(broker.address) as producer:
            for number, value in enumerate(values):
                producer.send("orders", value, partition=number % 2)
        options = (*SMALL, *as_archive(tmp_path))

        output = cluster.submit(PROGRAM, str(tmp_path), broker.address, options=options)

    assert output.code == 0, output.err[-4000:]
    assert (tmp_path / "killed").exists()
    rows = DeltaTable(tmp_path / "table").to_pyarrow_table().column("value").to_pylist()
    assert sorted(rows) == sorted(values)
    found = json.loads(output.out)
    assert found["rows"] == RECORDS
    assert found["batches"] > 1

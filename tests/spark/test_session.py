"""The source in a session."""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from tests.unit.storage.reader_samples import name
from tests.unit.storage.segment_samples import v2

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: A user's program without PYSPARK_PYTHON.
PROGRAM = """
import sys
import cordwood.spark
from pyspark.sql import SparkSession

spark = SparkSession.builder.master("local[1]").getOrCreate()
cordwood.spark.register(spark)
print(spark.read.format("cordwood").load(sys.argv[1]).count())
"""


def test_log_is_read_by_the_name_of_the_format(spark: "SparkSession", tmp_path: Path) -> None:
    (tmp_path / "orders-0").mkdir()
    (tmp_path / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))

    frame = spark.read.format("cordwood").load(str(tmp_path))

    assert [row.offset for row in frame.select("offset").collect()] == [0, 1]


def test_workers_import_the_package_even_if_another_python_is_first_on_the_path(
    spark: "SparkSession", tmp_path: Path
) -> None:
    assert spark.version, "there is a Spark"
    (tmp_path / "logs" / "orders-0").mkdir(parents=True)
    (tmp_path / "logs" / "orders-0" / name(0)).write_bytes(v2(0) + v2(1))
    other = tmp_path / "python3"
    other.write_text("#!/bin/sh\nexit 1\n")
    other.chmod(0o755)
    kept = {key: value for key, value in os.environ.items() if key != "PYSPARK_PYTHON"}
    first = os.pathsep.join((str(tmp_path), os.environ["PATH"]))

    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(tmp_path / "logs")],
        env={**kept, "PATH": first, "SPARK_LOCAL_IP": "127.0.0.1"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.stdout == "2\n", done.stderr[-4000:]

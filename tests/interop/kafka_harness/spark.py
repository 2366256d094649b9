"""Spark's own Kafka connector: pyspark in a virtual environment of its own, its jars from Maven."""

import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.interop.kafka_harness.jars import BUILD, INTEROP, MissingToolError, copy_jars, make_once
from tests.interop.kafka_harness.oracle import Program

VERSION: Final = "4.0.0"
PROGRAM: Final = INTEROP / "spark" / "connector.py"
LOCK: Final = INTEROP.parents[1] / "requirements" / "spark-connector.txt"
POM: Final = INTEROP / "maven" / f"spark-sql-kafka-{VERSION}" / "pom.xml"
#: Jars that Spark itself does not ship.
OWN_JARS: Final = ("*kafka*.jar", "commons-pool2-*.jar")
PATIENCE_S: Final = 500


def spark_program(folder: Path) -> tuple[Program, str]:
    """A running program that answers with Spark's connector, and the connector's version."""
    python, jars = connector()
    return Program([python, str(PROGRAM), jars], folder / "spark.txt"), VERSION


def connector() -> tuple[str, str]:
    """A Python with the connector's pyspark, and its jars as spark.jars wants them."""
    home = BUILD / f"spark-{VERSION}"
    make_once(home / "venv", LOCK.read_bytes(), _install)
    make_once(home / "jars", POM.read_bytes(), lambda target: copy_jars(POM, target))
    jars = ",".join(str(jar) for pattern in OWN_JARS for jar in (home / "jars").glob(pattern))
    return str(home / "venv" / "bin" / "python"), jars


def _install(target: Path) -> None:
    pip = [str(target / "bin" / "python"), "-m", "pip", "install", "--quiet"]
    steps = [
        [sys.executable, "-m", "venv", str(target)],
        [*pip, "--disable-pip-version-check", "--require-hashes", "-r", str(LOCK)],
    ]
    try:
        for step in steps:
            subprocess.run(step, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    except subprocess.CalledProcessError as error:
        raise MissingToolError(f"pyspark could not be installed: {error.stderr}") from error
    except subprocess.TimeoutExpired as error:
        raise MissingToolError(f"pyspark was not installed within {PATIENCE_S} s") from error

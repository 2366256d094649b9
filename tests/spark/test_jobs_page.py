"""The commands of docs/spark-jobs.md run and print the shown output."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

import cordwood
from tests.test_commands_page import TOPIC_ID
from tests.test_workbench_page import build_logs, transcripts
from tests.unit.cli.commands import run

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.timeout(1200)

PAGE: Final = Path(__file__).parents[2] / "docs" / "spark-jobs.md"
FOLDER: Final = "/srv/kafka"
BROKER: Final = "localhost:9092"
PROGRESS: Final = re.compile(r"^\w+: [\d,]+ of [\d,]+ bytes\n", re.MULTILINE)
PROGRAM: Final = re.compile(r"^```python\n(from cordwood.cli.*?)^```", re.MULTILINE | re.DOTALL)
SUBMIT: Final = "spark-submit "


def shown(submitted: bool) -> list[tuple[str, str]]:  # noqa: FBT001  # which of the two
    """Return the commands of the page that are given to spark-submit, or the others."""
    found = transcripts(PAGE.read_text())
    return [each for each in found if each[0].startswith(SUBMIT) == submitted]


def test_page_shows_the_output_of_its_commands(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    build_logs(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    code = 0

    with cordwood.Broker(tmp_path / "broker") as broker:
        for command, expected in shown(submitted=False):
            if command == "echo $?":
                assert f"{code}\n" == expected
                continue
            words = shlex.split(command.replace(BROKER, broker.address))
            code, out, err = run(tuple(words[1:]), monkeypatch, capfd)
            printed = PROGRESS.sub("", out + err).replace(str(tmp_path), FOLDER)
            assert TOPIC_ID.sub("ID", printed) == TOPIC_ID.sub("ID", expected), command
    assert spark.getActiveSession() is spark


def test_page_shows_the_output_of_spark_submit(tmp_path: Path) -> None:
    build_logs(tmp_path / "logs")
    (program,) = PROGRAM.findall(PAGE.read_text())
    (tmp_path / "job.py").write_text(program)
    ((command, expected),) = shown(submitted=True)
    words = [str(Path(sys.executable).with_name("spark-submit")), *shlex.split(command)[1:]]
    environment = os.environ | {"PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}

    done = subprocess.run(
        words, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.stdout.replace(str(tmp_path), FOLDER) == expected, done.stderr
    assert done.returncode == 0


@pytest.mark.parametrize("verb", ("read", "verify", "convert", "replay"))
def test_page_shows_every_job(verb: str) -> None:
    commands = [command for command, _ in shown(submitted=False)]

    assert any(command.startswith(f"cordwood spark {verb} ") for command in commands)

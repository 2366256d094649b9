"""`cordwood spark replay` as it is called; `tests/spark` runs it."""

from pathlib import Path

import pytest

from cordwood.cli.spark import replay
from cordwood.spark import jobs
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark

COMMAND = "spark replay logs --topic orders --to copies --rate 500 --state kept"


def test_replay_passes_its_options_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    calls: list[object] = []

    def replayed(_spark: None, options: object, **given: object) -> str:
        calls.extend((options, given["to"], given["rate"], given["state"]))
        return "copies: 7 records into 2 partitions"

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(replay, "job_session", without_spark)
    monkeypatch.setattr(replay, "check_source", lambda _options: None)
    monkeypatch.setattr(jobs, "replay", replayed)

    result = run((*COMMAND.split(), "--option", "startingTimestamp=5"), monkeypatch, capfd)

    assert (result.code, result.out) == (0, "copies: 7 records into 2 partitions\n")
    assert calls == [
        {"paths": f'["{tmp_path}/logs"]', "subscribe": "orders", "startingTimestamp": "5"},
        {"topic": "copies", "kafka.bootstrap.servers": "localhost:9092"},
        500,
        f"{tmp_path}/kept",
    ]

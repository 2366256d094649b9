"""`cordwood log adopt` as it is called."""

import json
from pathlib import Path

import pytest
import typer

from cordwood import cli
from cordwood.cli.log_adopt import parse_topic_configs
from tests.unit.workbench.salvage_samples import batch


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "t-1"
    path.mkdir()
    (path / "00000000000000000000.log").write_bytes(batch(0))
    return tmp_path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", "adopt", *map(str, arguments)])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_adopt_prints_the_topics_that_kafka_will_serve(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory, "--to-kafka", "--cluster-id", "c", "--node-id", "3") == 0

    assert capsys.readouterr().out.splitlines() == [
        f"{directory}: cluster c, node 3",
        "t: 2 partitions",
        "note: t-0 has no log here; Kafka creates an empty one",
    ]
    assert (directory / "bootstrap.checkpoint").exists()


def test_adopt_prints_json(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory, "--to-kafka", "--json") == 0

    assert json.loads(capsys.readouterr().out)["topics"] == {"t": 2}


def test_adopt_needs_no_target(directory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, directory) == 0


def test_adopt_rejects_directories_at_which_kafka_stops(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "lost+found").mkdir()

    assert run(monkeypatch, directory) == 3

    assert "do not belong to a partition: lost+found; move them" in capsys.readouterr().err


def test_configs_are_of_topics() -> None:
    assert parse_topic_configs(["a:b=c:d", "a:e=f"]) == {"a": {"b": "c:d", "e": "f"}}
    for text in ("a", "a:b"):
        with pytest.raises(typer.BadParameter):
            parse_topic_configs([text])

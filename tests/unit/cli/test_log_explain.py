"""`cordwood log explain` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood import cli
from tests.unit.workbench.salvage_samples import batch


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "t-0"
    path.mkdir()
    (path / "00000000000000000000.log").write_bytes(batch(0))
    (path / "00000000000000000004.log").write_bytes(batch(4))
    (tmp_path / "server.properties").write_text("log.retention.bytes=999\n")
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", "explain", *map(str, arguments)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    code = left.value.code
    return code if isinstance(code, int) else 0


def test_explain_tells_settings_and_segments(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = directory.parent / "server.properties"
    give = ("--config", "retention.ms=9223372036854775807", "--broker-config", broker)

    assert run(monkeypatch, directory, *give) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{directory}: offsets 0 to 7, high watermark 8"
    assert f"retention.bytes = 999 ({broker})" in lines
    assert lines[-1] == (
        "segment 4: 117 bytes up to offset 7: stays: not older than retention.ms; within "
        "retention.bytes; goes by size after 999 more bytes"
    )


def test_explain_tells_what_goes(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory, "--config", "retention.ms=5000") == 0

    lines = capsys.readouterr().out.splitlines()[-4:]
    assert lines == [
        "all of it goes: an empty segment is begun first",
        "the log starts at 8 after that",
        "segment 0: 117 bytes up to offset 3: goes now, older than retention.ms",
        "segment 4: 117 bytes up to offset 7: goes now, older than retention.ms",
    ]


@pytest.mark.parametrize(
    ("retention_ms", "words"),
    (
        ("253402300790000", "goes by age at 9999-12-31T23:59:51+00:00"),
        ("253402300799999", "goes by age at 253402300801003 ms"),
    ),
)
def test_explain_tells_when_a_segment_goes(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    retention_ms: str,
    words: str,
) -> None:
    run(monkeypatch, directory, "--config", f"retention.ms={retention_ms}")

    assert capsys.readouterr().out.splitlines()[-1].endswith(words)


def test_explain_prints_json_of_a_directory_of_any_name(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = directory.rename(directory.parent / "copy")

    assert run(monkeypatch, moved, "--json") == 0

    assert json.loads(capsys.readouterr().out)["log_end"] == 8

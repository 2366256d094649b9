"""`cordwood log reindex` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood import cli
from tests.unit.workbench.salvage_samples import batch, harmed


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    path = tmp_path / "t-0"
    path.mkdir()
    (path / "00000000000000000000.log").write_bytes(batch(0) + batch(4))
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", "reindex", *map(str, arguments)])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_reindex_writes_the_indexes(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "leader-epoch-checkpoint").write_text("x")

    assert run(monkeypatch, directory, "--index-interval-bytes", "0") == 0

    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"{directory}: 1 segment, 2 batches, offsets up to 7"
    assert second.startswith("note: rebuilt")
    assert third == f"verdict: {directory}: repairable"
    assert (directory / "00000000000000000000.index").stat().st_size == 8


def test_reindex_prints_json(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory, "--json") == 0

    assert json.loads(capsys.readouterr().out)["log_end"] == 8


def test_reindex_lists_lost_offsets_and_ends_with_1(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "00000000000000000012.log").write_bytes(batch(12))

    assert run(monkeypatch, directory, "--config", "cleanup.policy=delete") == 1

    assert capsys.readouterr().out.splitlines() == [
        f"{directory}: 2 segments, 3 batches, offsets up to 15",
        "lost: offsets 8 to 11: in no segment, and not removed by a cleaner",
        f"verdict: {directory}: records lost",
    ]
    assert (directory / "00000000000000000012.index").exists()


def test_reindex_of_a_damaged_log_ends_with_1(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "00000000000000000000.log").write_bytes(harmed(batch(0), 61, 62))

    assert run(monkeypatch, directory) == 1

    printed = capsys.readouterr().err.rstrip()
    assert printed.count("position 0") == 1
    assert printed.endswith(f"cordwood log salvage {directory} --out NEWDIR")


def test_reindex_of_a_log_directory_is_that_of_its_partitions(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    other = directory.parent / "u-0"
    other.mkdir()
    (other / "00000000000000000000.log").write_bytes(harmed(batch(0), 61, 62))

    assert run(monkeypatch, directory.parent, "--json") == 1

    printed = capsys.readouterr()
    assert [each["path"] for each in json.loads(printed.out)["partitions"]] == [str(directory)]
    assert f"cordwood log salvage {other} --out NEWDIR" in printed.err

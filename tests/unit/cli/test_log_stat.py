"""`cordwood log stat` as it is called."""

import json
from pathlib import Path

import pytest

from tests.unit.cli.test_log_verify import LOG, run
from tests.unit.storage.segment_samples import v2


@pytest.fixture
def logs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, data in (("t-0", v2(0, 3) + v2(4)), ("t-10", v2(0)), ("t-2", b""), ("u-0", v2(0, 6))):
        (tmp_path / name).mkdir()
        (tmp_path / name / LOG).write_bytes(data)
    return tmp_path


def rows(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


@pytest.mark.parametrize("options", ((), ("--deep",)))
def test_stat_counts(
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
) -> None:
    assert run(monkeypatch, "stat", "t-0", "--json", *options) == 0

    total = json.loads(capsys.readouterr().out)["total"]
    assert (total["batches"], total["records"]) == (2, 5)
    assert (total["deep"] is not None) == bool(options)


def test_stat_of_one_partition_is_in_detail(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "stat", "t-0") == 0

    assert "  formats: v2 2\n" in capsys.readouterr().out


def test_stat_of_a_log_directory_is_a_table(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (logs / "lost+found").mkdir()

    assert run(monkeypatch, "stat", ".") == 0

    printed = capsys.readouterr()
    titles, *lines = rows(printed.out)
    assert titles[:3] == ["PARTITION", "SIZE", "RECORDS"]
    assert [line[0] for line in lines] == ["t-0", "t-2", "t-10", "u-0", "total"]
    assert lines[-1][1:6] == [*lines[-1][1:3], "13", "4", "4"]
    assert "1970-01-01T00:00:01Z" in printed.out
    assert printed.err == f"note: {logs}: skipped, not a partition: lost+found\n"


def test_stat_prints_the_largest_partitions(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "stat", ".", "--sort", "records", "--top", "2") == 0

    printed = capsys.readouterr()
    assert [line[0] for line in rows(printed.out)[1:]] == ["u-0", "t-0", "total"]
    assert rows(printed.out)[-1][3] == "13"
    assert printed.err == "note: the total includes 2 more partitions; give a larger --top\n"

    assert run(monkeypatch, "stat", ".", "--top", "3") == 0

    assert "includes 1 more partition;" in capsys.readouterr().err


def test_stat_is_of_one_topic(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "stat", ".", "--topic", "t", "--json") == 0
    assert len(json.loads(capsys.readouterr().out)["partitions"]) == 3
    assert run(monkeypatch, "stat", ".", "--topic", "nope") == 3
    assert "has no partition of topic nope" in capsys.readouterr().err


def test_stat_prints_all_statistics_on_request(
    logs: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "stat", ".", "--details") == 0

    assert capsys.readouterr().out.count("  codecs: ") == 5

"""`cordwood log explain` as it is called."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cordwood import cli
from cordwood.cli import log_explain
from cordwood.workbench.explain import cleaning_outlook
from cordwood.workbench.explain.cleaning_outlook import (
    CleaningOutlook,
    Horizon,
    OpenTransaction,
    SegmentOutlook,
)
from tests.unit.workbench.salvage_samples import batch

FIRST = "1970-01-01T00:00:00+00:00"
LATER = f"or at a record later than {FIRST}"
KEPT = "kept: cleanup.policy does not delete"
ACTIVE = "the active segment is never cleaned; it rolls after 1,073,741,707 more bytes"
OUTLOOK = CleaningOutlook(
    first_dirty=10,
    warning=None,
    end=20,
    clean_bytes=300,
    cleanable_bytes=100,
    dirty_ratio=0.25,
    min_ratio=0.5,
    is_due=False,
    due_ms=None,
    missing_bytes=201,
    freed_bytes=None,
    undecided=None,
    segments=(),
)


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
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_explain_prints_settings_and_segments(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = directory.parent / "server.properties"
    give = ("--config", "retention.ms=9223372036854775807", "--broker-config", broker)

    assert run(monkeypatch, directory, *give) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{directory}: offsets 0 to 7, high watermark 8"
    assert f"retention.bytes = 999 ({broker})" in lines
    assert lines[-1] == (
        "segment 4: 117 bytes up to offset 7: kept: not older than retention.ms; within "
        "retention.bytes; deleted by size after 999 more bytes"
    )


def test_explain_prints_deleted_segments(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory, "--config", "retention.ms=5000") == 0

    lines = capsys.readouterr().out.splitlines()[-4:]
    assert lines == [
        "all segments are deleted: the log first rolls to an empty segment",
        "the log start offset is 8 after that",
        "segment 0: 117 bytes up to offset 3: deleted now, older than retention.ms",
        "segment 4: 117 bytes up to offset 7: deleted now, older than retention.ms",
    ]


@pytest.mark.parametrize(
    ("retention_ms", "text"),
    (
        ("253402300790000", "deleted by age at 9999-12-31T23:59:51+00:00"),
        ("253402300799999", "deleted by age at 253402300801003 ms"),
    ),
)
def test_explain_prints_when_a_segment_is_deleted(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    retention_ms: str,
    text: str,
) -> None:
    run(monkeypatch, directory, "--config", f"retention.ms={retention_ms}")

    assert capsys.readouterr().out.splitlines()[-1].endswith(text)


def test_explain_prints_when_a_compacted_log_is_cleaned(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give = ("--config", "cleanup.policy=compact", "--config", "segment.ms=9223372036854775807")

    assert run(monkeypatch, directory, *give) == 0

    assert capsys.readouterr().out.splitlines()[-5:] == [
        "dirty from offset 0: 117 of the 117 bytes below offset 4, 100.0%; cleaned above 50.0%",
        "cleaned in the cleaner's next run",
        "a pass now would free 0 bytes",
        f"segment 0: 117 bytes up to offset 3: {KEPT}; dirty, can be cleaned",
        f"segment 4: 117 bytes up to offset 7: {KEPT}; dirty, cannot be cleaned: {ACTIVE}",
    ]


@pytest.mark.parametrize(
    ("due_ms", "missing", "text"),
    (
        (None, 1, "once 1 more dirty byte can be cleaned"),
        (None, 2010, "once 2,010 more dirty bytes can be cleaned"),
        (0, 201, f"at {FIRST}, or once 201 more dirty bytes can be "),
        (0, None, f"at {FIRST}"),
        (None, None, "never by its dirty ratio"),
    ),
)
def test_explain_prints_when_a_log_becomes_due(
    due_ms: int | None, missing: int | None, text: str
) -> None:
    outlook = replace(OUTLOOK, due_ms=due_ms, missing_bytes=missing)

    assert log_explain.cleaning_lines(outlook)[-2].startswith(f"cleaned {text}")


@pytest.mark.parametrize(
    ("freed", "text"), ((None, "at most 400 bytes; --deep counts them"), (7, "7 bytes"))
)
def test_explain_prints_how_much_a_pass_frees(freed: int | None, text: str) -> None:
    outlook = replace(OUTLOOK, freed_bytes=freed)

    assert log_explain.cleaning_lines(outlook)[-1] == f"a pass now would free {text}"


def test_explain_prints_warnings_and_open_transactions() -> None:
    outlook = replace(
        OUTLOOK, warning="a wrong one", undecided=OpenTransaction(producer_id=7, first_offset=8)
    )

    lines = log_explain.cleaning_lines(outlook)

    assert lines[0] == "a wrong one"
    assert lines[2] == "producer 7 has an open transaction since offset 8"


@pytest.mark.parametrize(
    ("outlook", "text"),
    (
        (SegmentOutlook(base_offset=0, is_clean=True, holds=("active",)), "clean"),
        (SegmentOutlook(base_offset=0, is_clean=False), "dirty, can be cleaned"),
        (
            SegmentOutlook(base_offset=0, is_clean=False, holds=("too young",), until_ms=0),
            f"dirty, cannot be cleaned: too young; not before {FIRST}",
        ),
        (
            SegmentOutlook(
                base_offset=0,
                is_clean=False,
                holds=("active",),
                rolls_after_bytes=5,
                rolls_after_ms=0,
            ),
            f"dirty, cannot be cleaned: active; it rolls after 5 more bytes, {LATER}",
        ),
    ),
)
def test_explain_prints_the_outlook_of_a_segment(outlook: SegmentOutlook, text: str) -> None:
    assert log_explain.outlook_text(outlook) == text


@pytest.mark.parametrize(("is_control", "text"), ((True, "its marker"), (False, "its tombstones")))
def test_explain_prints_horizons_of_batches(*, is_control: bool, text: str) -> None:
    horizon = Horizon(
        path="/d/t-0/0.log",
        position=99,
        base_offset=1,
        last_offset=2,
        is_control=is_control,
        horizon_ms=0,
    )

    assert log_explain.horizon_line(horizon) == (
        f"offsets 1 to 2: {text} can be deleted from {FIRST} on (/d/t-0/0.log, position 99)"
    )


def test_explain_counts_a_large_log_only_with_deep(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(cleaning_outlook, "CHEAP_BYTES", 1)
    text = []

    for deep in ((), ("--deep",)):
        run(monkeypatch, directory, "--config", "cleanup.policy=compact", *deep)
        text.append(capsys.readouterr().out.splitlines()[-3])

    assert text == [
        "a pass now would free at most 117 bytes; --deep counts them",
        "a pass now would free 0 bytes",
    ]


@pytest.mark.parametrize("is_path", (False, True))
def test_explain_accepts_a_topic(
    directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    is_path: bool,
) -> None:
    shutil.copytree(directory, directory.parent / "t-10")
    (directory.parent / "other-0").mkdir()
    given = [directory.parent / "t"] if is_path else ["t", "--data", directory.parent]

    assert run(monkeypatch, *given, "--json") == 0

    partitions = json.loads(capsys.readouterr().out)["partitions"]
    assert [each["path"] for each in partitions] == [str(directory), f"{directory.parent}/t-10"]


def test_explain_prints_json_of_a_directory_of_any_name(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = directory.rename(directory.parent / "copy")

    assert run(monkeypatch, moved, "--json") == 0

    assert json.loads(capsys.readouterr().out)["log_end"] == 8


def test_explain_of_a_log_directory_is_that_of_its_partitions(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, directory.parent, "--json") == 0

    found = json.loads(capsys.readouterr().out)["partitions"]
    assert [(each["path"], each["verdict"]) for each in found] == [(str(directory), "whole")]


def test_explain_prints_the_verdict_on_damage_and_ends_with_1(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (directory / "00000000000000000004.log").unlink()
    (directory / "00000000000000000008.snapshot").write_bytes(b"")

    assert run(monkeypatch, directory) == 1

    line = capsys.readouterr().out.splitlines()[1]
    assert line == f"verdict: records lost; run: cordwood log verify {directory}"


def test_explain_verifies_a_large_log_only_with_deep(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(log_explain, "VERIFIED_BYTES", 100)

    assert run(monkeypatch, directory) == 0
    assert "not verified, the log is large" in capsys.readouterr().out
    assert run(monkeypatch, directory, "--deep") == 0
    assert "verdict: whole" in capsys.readouterr().out

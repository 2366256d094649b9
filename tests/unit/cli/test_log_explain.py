"""`cordwood log explain` as it is called."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from cordwood import cli
from cordwood.cli import log_explain
from cordwood.workbench import explain_cleaning
from cordwood.workbench.explain_cleaning import (
    CleaningOutlook,
    Horizon,
    SegmentOutlook,
    Undecided,
)
from tests.unit.workbench.salvage_samples import batch

FIRST = "1970-01-01T00:00:00+00:00"
LATER = f"or with a record later than {FIRST}"
STAYS = "stays: cleanup.policy does not delete"
ACTIVE = "the active segment is never cleaned; it rolls after 1073741707 more bytes"
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


def test_explain_tells_of_a_compacted_log_when_it_is_cleaned(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give = ("--config", "cleanup.policy=compact", "--config", "segment.ms=9223372036854775807")

    assert run(monkeypatch, directory, *give) == 0

    assert capsys.readouterr().out.splitlines()[-5:] == [
        "dirty from 0 on: 117 of the 117 bytes below 4, 100.0%; more than 50.0% have to be",
        "cleaned when the cleaner has its next turn",
        "a pass now would free 0 bytes",
        f"segment 0: 117 bytes up to offset 3: {STAYS}; dirty, may be cleaned",
        f"segment 4: 117 bytes up to offset 7: {STAYS}; dirty, not cleaned: {ACTIVE}",
    ]


@pytest.mark.parametrize(
    ("due_ms", "missing", "words"),
    (
        (None, 201, "once 201 more bytes are dirty and may be cleaned"),
        (0, 201, f"at {FIRST}, or once 201 more bytes are dirty and may be "),
        (0, None, f"at {FIRST}"),
        (None, None, "never by its ratio"),
    ),
)
def test_explain_tells_when_a_log_that_is_not_due_will_be(
    due_ms: int | None, missing: int | None, words: str
) -> None:
    told = replace(OUTLOOK, due_ms=due_ms, missing_bytes=missing)

    assert log_explain.lines_of_cleaning(told)[-2].startswith(f"cleaned {words}")


@pytest.mark.parametrize(
    ("freed", "words"), ((None, "at most 400 bytes: --deep counts them"), (7, "7 bytes"))
)
def test_explain_tells_how_much_a_pass_frees(freed: int | None, words: str) -> None:
    told = replace(OUTLOOK, freed_bytes=freed)

    assert log_explain.lines_of_cleaning(told)[-1] == f"a pass now would free {words}"


def test_explain_tells_of_wrong_checkpoints_and_of_undecided_transactions() -> None:
    told = replace(
        OUTLOOK, warning="a wrong one", undecided=Undecided(producer_id=7, first_offset=8)
    )

    lines = log_explain.lines_of_cleaning(told)

    assert lines[0] == "a wrong one"
    assert lines[2] == "producer 7 has not decided what it began at 8"


@pytest.mark.parametrize(
    ("outlook", "words"),
    (
        (SegmentOutlook(base_offset=0, is_clean=True, holds=("active",)), "clean"),
        (SegmentOutlook(base_offset=0, is_clean=False), "dirty, may be cleaned"),
        (
            SegmentOutlook(base_offset=0, is_clean=False, holds=("too young",), until_ms=0),
            f"dirty, not cleaned: too young; not before {FIRST}",
        ),
        (
            SegmentOutlook(
                base_offset=0,
                is_clean=False,
                holds=("active",),
                rolls_after_bytes=5,
                rolls_after_ms=0,
            ),
            f"dirty, not cleaned: active; it rolls after 5 more bytes, {LATER}",
        ),
    ),
)
def test_explain_tells_what_becomes_of_a_segment(outlook: SegmentOutlook, words: str) -> None:
    assert log_explain.outlook_of(outlook) == words


@pytest.mark.parametrize(("is_control", "words"), ((True, "marker goes"), (False, "tombstones go")))
def test_explain_tells_horizons_of_batches(*, is_control: bool, words: str) -> None:
    horizon = Horizon(
        path="/d/t-0/0.log",
        position=99,
        base_offset=1,
        last_offset=2,
        is_control=is_control,
        horizon_ms=0,
    )

    assert log_explain.line_of_horizon(horizon) == (
        f"offsets 1 to 2: {words} with a pass from {FIRST} on (/d/t-0/0.log, position 99)"
    )


def test_explain_counts_what_is_large_when_it_is_asked_to(
    directory: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(explain_cleaning, "CHEAP_BYTES", 1)
    words = []

    for deep in ((), ("--deep",)):
        run(monkeypatch, directory, "--config", "cleanup.policy=compact", *deep)
        words.append(capsys.readouterr().out.splitlines()[-3])

    assert words == [
        "a pass now would free at most 117 bytes: --deep counts them",
        "a pass now would free 0 bytes",
    ]


@pytest.mark.parametrize("is_path", (False, True))
def test_explain_takes_a_topic_for_its_partitions(
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

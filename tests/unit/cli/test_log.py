"""`cordwood log dump` as it is called: options, streams and exit codes."""

import struct
from pathlib import Path

import pytest
import typer

from cordwood import cli
from cordwood.cli.log import parse_range, split_files
from tests.unit.workbench.dump_samples import LOG, batch


@pytest.fixture
def segment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / LOG
    path.write_bytes(batch(0) + batch(2))
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", "dump", *arguments])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_dump_prints_kafkas_lines(
    segment: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    assert run(monkeypatch, "--files", LOG, "--print-data-log", "--offsets", "1:2") == 0

    out = capfdbinary.readouterr().out.decode()
    assert out.startswith(f"Dumping {LOG}\nLog starting offset: 0\nbaseOffset: 0 ")
    assert [line.rpartition(": ")[2] for line in out.splitlines() if line[0] == "|"] == ["v1", "v0"]


@pytest.mark.parametrize("arguments", (("--format", "arrow"), ("--format", "json"), ()))
def test_dump_writes_the_selected_format(
    segment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
    arguments: tuple[str, ...],
) -> None:
    assert run(monkeypatch, "--files", LOG, *arguments) == 0

    start = {"arrow": b"\xff\xff\xff\xff", "json": b'{"base_offset":0'}
    expected = start.get(arguments[-1] if arguments else "", b"Dumping ")
    assert capfdbinary.readouterr().out.startswith(expected)


def test_time_index_is_compared_with_its_log(
    segment: Path, monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    segment.with_suffix(".index").write_bytes(b"")
    segment.with_suffix(".timeindex").write_bytes(struct.pack(">qi", 1001, 1))

    assert run(monkeypatch, "--files", str(segment.with_suffix(".timeindex"))) == 0

    assert capfdbinary.readouterr().out.endswith(b"timestamp: 1001 offset: 1\n")


def test_dump_accepts_a_rate(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--files", LOG, "--bytes-per-second", "1000000") == 0


def test_dump_exits_with_1_on_findings(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    segment.write_bytes(batch(0)[:-1] + b"\xff")

    assert run(monkeypatch, "--files", str(segment)) == 1


@pytest.mark.parametrize(
    "arguments",
    (
        (),
        ("--files", LOG, "--offsets", "3"),
        ("--files", LOG, "--timestamps", "a:b"),
        ("--files", LOG, "--format", "csv"),
        ("--files", LOG, "--cluster-metadata-decoder"),
        ("--files", LOG, "--key-decoder-class", "my.Decoder"),
        ("--files", LOG, "--max-bytes", "-1"),
    ),
)
def test_wrong_usage_ends_with_2(
    segment: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    assert run(monkeypatch, *arguments) == 2


def test_missing_file_exits_with_3(segment: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run(monkeypatch, "--files", "5.log") == 3


def test_range_may_be_open_at_either_end() -> None:
    assert parse_range("3:4") == (3, 4)
    assert parse_range(":-4") == (None, -4)
    assert parse_range("3:") == (3, None)
    assert parse_range(None) == (None, None)


@pytest.mark.parametrize("text", ("3", "a:4", "1:2:3", "5:1", ":9223372036854775808"))
def test_text_that_is_not_a_range_is_rejected(text: str) -> None:
    with pytest.raises(typer.BadParameter):
        parse_range(text)


@pytest.mark.parametrize(
    ("text", "paths"), (("a,b", ["a", "b"]), ("a,,b,,", ["a", "", "b"]), ("", [""]))
)
def test_files_are_split_as_in_java(text: str, paths: list[str]) -> None:
    assert split_files(text) == paths


@pytest.mark.parametrize("path", (LOG, "t-0", "."))
def test_dump_takes_files_and_directories(
    path: str,
    segment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfdbinary: pytest.CaptureFixture[bytes],
) -> None:
    if path != LOG:
        (segment.parent / "t-0").mkdir()
        segment.rename(segment.parent / "t-0" / LOG)

    assert run(monkeypatch, path) == 0

    assert capfdbinary.readouterr().out.count(b"baseOffset: ") == 2


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    (
        (("nope.log",), 3, "nope.log: does not exist; check the path"),
        (("--files", "nope.log"), 3, "nope.log: does not exist; check the path"),
        (("empty-0",), 3, "empty-0: has no .log file"),
        ((), 2, "no file is given"),
    ),
)
def test_dump_of_nothing_is_an_error(
    arguments: tuple[str, ...],
    code: int,
    text: str,
    segment: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (segment.parent / "empty-0").mkdir()

    assert run(monkeypatch, *arguments) == code

    assert text in capsys.readouterr().err

"""docs/workbench.md shows commands with their output; this test runs them unchanged."""

import re
import shlex
from pathlib import Path
from typing import Final

import pytest

from cordwood import cli
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.checkpoints.checkpoint_files import HIGH_WATERMARKS, LOG_START_OFFSETS
from cordwood.storage.log_config import LogConfig
from tests.unit.storage.log_samples import DIRECTORY, LogHarness, batch, lead, marker, produced

PAGE: Final = Path(__file__).parents[1] / "docs" / "workbench.md"
FOLDER: Final = "/srv/kafka"
ORDERS: Final = LogConfig(segment_bytes=500, segment_index_bytes=1200, index_interval_bytes=100)


def transcripts(page: str) -> list[tuple[str, str]]:
    """Return the commands that a page shows, each with the lines below it."""
    blocks = re.findall(r"^```console\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    shown = [part for block in blocks for part in re.split(r"^\$ ", block, flags=re.MULTILINE)]
    return [(part.split("\n")[0], part.partition("\n")[2]) for part in shown if part]


def build_logs(folder: Path) -> None:
    """Make a log directory of two partitions: one is whole, the other has lost four bytes."""
    place = LogHarness()
    log = place.open(ORDERS)
    lead(log, *(batch(2, value=b"5 boards") for _ in range(9)))
    lead(log, produced(0, 2, is_transactional=True), produced(2, 1, is_transactional=True))
    lead(log, marker(is_commit=True), origin=AppendOrigin.COORDINATOR)
    log.close()
    for partition in ("orders-0", "orders-1"):
        (folder / partition).mkdir(parents=True)
        for name in place.files.list(DIRECTORY):
            file = place.files.open(f"{DIRECTORY}/{name}")
            (folder / partition / name).write_bytes(file.pread(file.size, 0))
    hurt = folder / "orders-1" / f"{10:020}.log"
    data = bytearray(hurt.read_bytes())
    data[255:259] = bytes(4)
    hurt.write_bytes(data)
    (folder / HIGH_WATERMARKS).write_text("0\n2\norders 0 22\norders 1 22\n")
    (folder / LOG_START_OFFSETS).write_text("0\n0\n")


def run(command: str, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.setattr("sys.argv", shlex.split(command))
    with pytest.raises(SystemExit) as left:
        cli.main()
    return int(left.value.code or 0)


def test_workbench_page_shows_the_output_of_its_commands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    build_logs(tmp_path / "logs")
    monkeypatch.chdir(tmp_path)
    code = 0

    for command, shown in transcripts(PAGE.read_text()):
        if command == "echo $?":
            assert f"{code}\n" == shown
            continue
        if command.startswith("cat "):
            Path(command.split()[1]).write_text(shown)
            continue
        code = run(command, monkeypatch)
        printed = "".join(capfd.readouterr()).replace(str(tmp_path), FOLDER)
        assert printed == shown, command


@pytest.mark.parametrize(
    "verb",
    (
        *("log verify", "log stat", "log dump", "log explain", "log diff", "log picture"),
        *("log salvage", "log reindex", "log adopt", "compact"),
    ),
)
def test_workbench_page_shows_every_verb(verb: str) -> None:
    commands = [command for command, _ in transcripts(PAGE.read_text())]

    assert any(command.startswith(f"cordwood {verb} ") for command in commands)

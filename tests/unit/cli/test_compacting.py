"""Partitions are compacted in turn, and what became of each is said."""

from pathlib import Path

import pytest
import typer

from cordwood.cli.compacting import Telling, compact
from cordwood.core.system import SystemFiles
from cordwood.workbench.compact import CompactOrder, PlaceToCompact
from cordwood.workbench.settings_found import SettingsFinder
from tests.unit.compaction.compaction_samples import batch

FILES = SystemFiles()


def place(folder: Path, name: str, *, is_damaged: bool = False) -> PlaceToCompact:
    """Make a partition of two segments."""
    path = folder / name
    path.mkdir()
    data = bytearray(batch(0, "a1"))
    data[-1] ^= is_damaged
    (path / f"{0:020}.log").write_bytes(data)
    (path / f"{1:020}.log").write_bytes(batch(1, "a2"))
    for base in (0, 1):
        (path / f"{base:020}.index").touch()
    (folder / ".kafka_cleanshutdown").touch()
    finder = SettingsFinder(FILES, given={"cleanup.policy": "compact"})
    return PlaceToCompact(str(path), finder.of(str(folder), "t"))


def test_failure_of_one_is_told_and_the_next_has_its_turn(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = [place(tmp_path, "t-0", is_damaged=True), place(tmp_path, "t-1")]

    with pytest.raises(typer.Exit) as left:
        compact(FILES, places, order=CompactOrder(), telling=Telling(), is_dry_run=False)

    said = capfd.readouterr()
    assert left.value.exit_code == 1
    assert said.err.startswith(f"cordwood: {tmp_path}/t-0")
    assert said.out.startswith(f"{tmp_path}/t-1: offsets 0 to 1")

"""Partitions are compacted one at a time, and each is reported."""

from pathlib import Path

import pytest
import typer

from cordwood.cli.compact_run import ReportOutput, compact
from cordwood.core.system import SystemFiles
from cordwood.workbench.compact import CompactOrder, CompactTarget
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.unit.compaction.compaction_samples import batch

FILES = SystemFiles()


def place(folder: Path, name: str, *, is_damaged: bool = False) -> CompactTarget:
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
    return CompactTarget(str(path), finder.find(str(folder), "t"))


def test_failed_partition_does_not_stop_the_next(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    places = [place(tmp_path, "t-0", is_damaged=True), place(tmp_path, "t-1")]

    with pytest.raises(typer.Exit) as exited:
        compact(FILES, places, order=CompactOrder(), output=ReportOutput(), is_dry_run=False)

    result = capfd.readouterr()
    assert exited.value.exit_code == 1
    assert result.err.startswith(f"cordwood: {tmp_path}/t-0")
    assert result.out.startswith(f"{tmp_path}/t-1: offsets 0 to 1")

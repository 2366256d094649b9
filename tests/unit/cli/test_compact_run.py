"""Partitions are compacted one at a time, and each is reported; one rule gives the exit code."""

from dataclasses import replace
from pathlib import Path

import pytest
import typer

from cordwood.cli import compact_run
from cordwood.cli.compact_run import ReportOutput, compact
from cordwood.cli.exit_codes import INTERRUPTED
from cordwood.compaction.cleaning_job import CleaningFailedError
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.kernels import PAYS_FROM
from cordwood.core.system import SystemFiles
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.records.compression import Codec
from cordwood.workbench.compact import CompactOrder, CompactReport, CompactTarget
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


REPORT = CompactReport(
    path="/logs/t-0",
    partition="t-0",
    log_start=0,
    log_end=9,
    first_dirty=0,
    end=0,
    dirty_ratio=0.0,
    size=0,
    groups=(),
    held=(),
)


def stop() -> None:
    raise typer.Exit(INTERRUPTED)


def exit_code(
    *reports: CompactReport, failure: CleaningFailedError | None = None, is_stopped: bool = False
) -> int:
    """Return the exit code of a command with these results."""
    try:
        with ReportOutput(key_lines={b"a": 2}).opened() as printer:
            for report in reports:
                printer.print_report(report)
            if failure is not None:
                printer.print_failure(failure)
            if is_stopped:
                stop()
    except typer.Exit as exited:
        return exited.exit_code
    return 0


def test_exit_code_is_1_if_any_result_is_bad() -> None:
    absent = replace(REPORT, absent_keys=(b"a",))

    assert exit_code(REPORT, REPORT) == 0
    assert exit_code(absent, absent) == 1
    assert exit_code(absent, REPORT) == 0  # the other partition has the key
    assert exit_code(REPORT, failure=CleaningFailedError("/logs/t-0: is damaged")) == 1


def test_interrupted_command_keeps_its_exit_code() -> None:
    failure = CleaningFailedError("/logs/t-0: is damaged")

    assert exit_code(failure=failure, is_stopped=True) == INTERRUPTED


@pytest.mark.parametrize("is_clean", (True, False))
def test_failed_partition_does_not_stop_the_next(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], *, is_clean: bool
) -> None:
    """After an unclean stop the log cannot be opened; after a clean one the pass finds damage."""
    places = [place(tmp_path, "t-0", is_damaged=True), place(tmp_path, "t-1")]
    if not is_clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()

    with pytest.raises(typer.Exit) as exited:
        compact(FILES, places, order=CompactOrder(), output=ReportOutput(), is_dry_run=False)

    result = capfd.readouterr()
    assert exited.value.exit_code == 1
    assert result.err.startswith(f"cordwood: {tmp_path}/t-0")
    assert result.out.startswith(f"{tmp_path}/t-1: offsets 0 to 1")


class PassStartedError(Exception):
    """The command has chosen the engine of its passes."""


def refuse(size: int) -> Engine:
    raise PassStartedError(size)


def test_engine_of_small_compressed_files_is_that_of_their_records(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = place(tmp_path, "t-0")
    builder = BatchBuilder(BatchFields(base_offset=1, codec=Codec.ZSTD))
    for _ in range(PAYS_FROM // 64):
        builder.append(b"key", b"value", timestamp=0)
    log = tmp_path / "t-0" / f"{1:020}.log"
    log.write_bytes(builder.build())
    monkeypatch.setattr(compact_run, "engine", refuse)

    with pytest.raises(PassStartedError) as started:
        compact(FILES, [target], order=CompactOrder(), output=ReportOutput(), is_dry_run=False)

    assert log.stat().st_size < PAYS_FROM // 10
    assert started.value.args[0] >= PAYS_FROM

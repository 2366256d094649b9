"""Our cleaning of a log at a given time, as `cordwood compact` does it.

A broker's checkpoints are next to the directory.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cordwood.compaction.cleaning_job import Verify
from cordwood.compaction.engine.engine import Engine
from cordwood.compaction.engine.plain_engine import PLAIN
from cordwood.compaction.passes.cleaning_pass import InlineRunner
from cordwood.core.ports import Ports, Worker
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.core.types import Offset
from cordwood.records.kernels import decoder, state_scanner
from cordwood.storage.checkpoints.checkpoint_files import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    write_offset_checkpoint,
)
from cordwood.storage.checkpoints.clean_shutdown_file import write_clean_shutdown
from cordwood.workbench.compact import CompactOrder, CompactReport, compact
from cordwood.workbench.exclusive_log import partition_named_by
from cordwood.workbench.record_digest import RecordReaders
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.interop.kafka_harness.our_logs import StandingClock
from tests.unit.workbench.compact_samples import PLAIN_READERS

PROVEN: Final = CompactOrder(verify=Verify.ALWAYS)


class IdlePassControl:
    """A control that never stops a pass or slows it down."""

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Take no notice."""

    def on_bytes(self, count: int) -> None:
        """Take no notice."""


def place_beside(directory: Path, *, bounds: Mapping[str, int], cleaned_to: int) -> None:
    """Write the files of a cleanly stopped broker next to a partition's directory."""
    files, log_directory = SystemFiles(), str(directory.parent)
    said = {
        LOG_START_OFFSETS: bounds["log_start"],
        HIGH_WATERMARKS: bounds["high_watermark"],
        RECOVERY_POINTS: bounds["recovery_point"],
    }
    if cleaned_to >= 0:
        said[CLEANER_OFFSETS] = cleaned_to
    partition = partition_named_by(str(directory))
    for name, offset in said.items():
        path = f"{log_directory}/{name}"
        write_offset_checkpoint(files, path, offsets={partition: Offset(offset)})
    write_clean_shutdown(files, log_directory)


def clean(
    directory: Path,
    config: Mapping[str, str],
    *,
    now_ms: int,
    engine: Engine,
    order: CompactOrder = PROVEN,
    worker: Worker | None = None,
) -> CompactReport:
    """Clean an unused log; the twin of the engine reads the result, too."""
    files, clock = SystemFiles(), StandingClock()
    clock.ms = now_ms
    found = SettingsFinder(files, given=config).find(str(directory.parent), "t")
    runner = InlineRunner(files, engine, worker)
    kernels = RecordReaders(decoder(), state_scanner(), worker)
    return compact(
        Ports(files=files, clock=clock, random=SystemRandom()),
        str(directory),
        found=found,
        order=order,
        readers=PLAIN_READERS if engine is PLAIN else kernels,
        run=lambda job: runner.run(job, IdlePassControl()),
    )

"""Our cleaning of a log at a given time, as `cordwood compact` does it: with a broker's checkpoints
beside the directory.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Final

from cordwood.compaction.engine import Engine
from cordwood.compaction.job import Verify
from cordwood.compaction.passes import InlineRunner
from cordwood.core.ports import Worker
from cordwood.core.system import SystemFiles, SystemRandom
from cordwood.core.types import Offset
from cordwood.records.plain import PlainDecoder
from cordwood.storage.checkpoints import (
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOG_START_OFFSETS,
    RECOVERY_POINTS,
    write_offset_checkpoint,
)
from cordwood.storage.clean_shutdown import write_clean_shutdown
from cordwood.workbench.compact import CompactOrder, CompactReport, CompactTools, compact
from cordwood.workbench.owned import named_partition
from cordwood.workbench.settings_found import SettingsFinder
from tests.interop.kafka_harness.our_logs import StandingClock

PROVEN: Final = CompactOrder(verify=Verify.ALWAYS)


class Unhindered:
    """A pass that nobody stops or slows down."""

    def is_stopped(self) -> bool:
        return False

    def expect(self, count: int) -> None:
        """Take no notice."""

    def on_bytes(self, count: int) -> None:
        """Take no notice."""


def place_beside(directory: Path, *, bounds: Mapping[str, int], cleaned_to: int) -> None:
    """Write what a broker that was stopped in order leaves beside a partition's directory."""
    files, log_directory = SystemFiles(), str(directory.parent)
    said = {
        LOG_START_OFFSETS: bounds["log_start"],
        HIGH_WATERMARKS: bounds["high_watermark"],
        RECOVERY_POINTS: bounds["recovery_point"],
    }
    if cleaned_to >= 0:
        said[CLEANER_OFFSETS] = cleaned_to
    partition = named_partition(str(directory))
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
    """Clean a log that nobody uses."""
    files, clock = SystemFiles(), StandingClock()
    clock.ms = now_ms
    tools = CompactTools(
        files=files,
        clock=clock,
        random=SystemRandom(),
        runner=InlineRunner(files, engine, worker),
        control=Unhindered(),
        decoder=PlainDecoder(),
    )
    found = SettingsFinder(files, given=config).of(str(directory.parent), "t")
    return compact(tools, str(directory), found=found, order=order)

"""A log directory to convert: transactions, aborted ones too, in several segments."""

from cordwood.core.types import Offset
from cordwood.storage.checkpoints.checkpoint_files import HIGH_WATERMARKS, write_offset_checkpoint
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.storage.log_samples import PARTITION, LogHarness, interleaved

CUT = LogConfig(segment_bytes=900, segment_index_bytes=1200, index_interval_bytes=100)


def log_directory() -> MemoryFiles:
    """Return files with the log of 90 offsets in /d/t-0, cleanly closed."""
    place = LogHarness()
    log = place.open(CUT)
    for each in interleaved():
        log.append_as_follower(each, leader_epoch=3)
    log.set_high_watermark(log.bounds.log_end)
    log.close()
    write_offset_checkpoint(place.files, f"/d/{HIGH_WATERMARKS}", offsets={PARTITION: Offset(90)})
    return place.files

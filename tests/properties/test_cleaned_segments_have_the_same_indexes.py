"""A pass writes the same files with scans over many batches and with single batches."""

import random

from hypothesis import given
from hypothesis import strategies as st

from cordwood.compaction.passes.segment_writer import CleanedSegmentWriter
from cordwood.records.kernels.tail_scan import KernelTailScanner
from cordwood.records.tail_scan import TailScanner
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.compaction.compaction_samples import NOW, batch, marker, sent

DIRECTORY = "/t-0"
CONFIG = LogConfig(segment_index_bytes=1200, index_interval_bytes=200)
FAR = 1 << 31


def story(chance: random.Random) -> list[bytes]:
    """Return chunks of batches, most of them ordinary, whose offsets rise and whose times jump."""
    chunks, at = [], 0
    for _ in range(chance.randint(0, 4)):
        parts = []
        for _ in range(chance.randint(0, 40)):
            at += chance.choice((1, 1, 1, 2, 50) if chance.random() < 0.97 else (FAR,))
            parts.append(_batch(at, chance))
        chunks.append(b"".join(parts))
    return chunks


def _batch(at: int, chance: random.Random) -> bytes:
    kind = chance.random()
    if kind < 0.05:
        return marker(at, is_commit=kind < 0.02)
    if kind < 0.15:
        return sent(at, "a1")
    return batch(at, "a1", time=NOW + chance.randint(-50, 50))


def written(chunks: list[bytes], strider: TailScanner | None) -> dict[str, bytes]:
    files = MemoryFiles()
    files.make_directory(DIRECTORY)
    writer = CleanedSegmentWriter(files, DIRECTORY, config=CONFIG, strider=strider)
    writer.begin(0)
    for chunk in chunks:
        writer.append(chunk)
    writer.finish((), modified_ms=NOW)
    found = {name: files.open(f"{DIRECTORY}/{name}") for name in files.list(DIRECTORY)}
    return {name: file.pread(file.size, 0) for name, file in found.items()}


@given(seed=st.integers(0, 1 << 32))
def test_scans_do_not_change_the_written_files(seed: int) -> None:
    chunks = story(random.Random(seed))

    assert written(chunks, KernelTailScanner()) == written(chunks, None)

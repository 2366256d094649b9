"""Readers of a proof, in front of batches."""

from cordwood.compaction.proof.batch_reader import BatchCursor, ReadOptions, SegmentFile
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.testing.memory_files import MemoryFiles


def standing(*data: bytes) -> BatchCursor:
    """Return a reader that has looked at the first of some batches."""
    files = MemoryFiles()
    files.make_directory("/t-0")
    file = SegmentFile(0, "", sum(map(len, data)), 0, 0)
    files.create(f"/t-0/{file.name}").append(b"".join(data))
    batches = BatchCursor(
        ReadOptions(DirectorySource(files, "/t-0"), 1 << 12, lambda _: None), (file,)
    )
    batches.peek()
    return batches

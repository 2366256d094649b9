"""Readers of a proof, in front of batches."""

from cordwood.compaction.verify_reading import Batches, Reading, SegmentFile
from cordwood.storage.source import DirectorySource
from cordwood.testing.files import MemoryFiles


def standing(*data: bytes) -> Batches:
    """Return a reader that has looked at the first of some batches."""
    files = MemoryFiles()
    files.make_directory("/t-0")
    file = SegmentFile(0, "", sum(map(len, data)), 0, 0)
    files.create(f"/t-0/{file.name}").append(b"".join(data))
    batches = Batches(Reading(DirectorySource(files, "/t-0"), 1 << 12, lambda _: None), (file,))
    batches.peek()
    return batches

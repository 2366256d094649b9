"""Files in memory to dump, and the output of a dump."""

from collections.abc import Iterable

from cordwood.core.errors import CordwoodError
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.dump.batch_lines import DumpedBatch, batch_at
from cordwood.workbench.dump.dump_options import DumpOptions, DumpRun, OutputText
from cordwood.workbench.file_window import FileWindow

FOLDER = "/logs"
LOG = "00000000000000000000.log"


def batch(base_offset: int = 0, *, count: int = 2, timestamp: int = 1000) -> bytes:
    """Return a batch of records k0, k1, ... a millisecond apart."""
    builder = BatchBuilder(BatchFields(base_offset=base_offset))
    for at in range(count):
        builder.append(b"k%d" % at, b"v%d" % at, timestamp=timestamp + at)
    return bytes(builder.build())


def files_of(contents: dict[str, bytes]) -> MemoryFiles:
    """Return a file system with these files in one folder."""
    files = MemoryFiles()
    files.make_directory(FOLDER)
    for name, data in contents.items():
        file = files.create(f"{FOLDER}/{name}")
        file.append(data)
        file.close()
    return files


def dump_of(contents: dict[str, bytes], options: DumpOptions | None = None) -> DumpRun:
    """Return a dump of these files."""
    return DumpRun(files=files_of(contents), options=options or DumpOptions(folder=FOLDER))


def window_of(data: bytes, *, end: int | None = None) -> FileWindow:
    """Return a window over bytes."""
    file = files_of({"data": data}).open(f"{FOLDER}/data")
    return FileWindow(file, len(data) if end is None else end)


def dumped(data: bytes) -> DumpedBatch:
    """Return the batch at the start of bytes."""
    found = batch_at(window_of(data), 0)
    assert found is not None
    return found


def outcome(output: Iterable[OutputText]) -> tuple[str, str, CordwoodError | None]:
    """Return the text of both streams, and the error at the end."""
    streams: tuple[list[bytes], list[bytes]] = ([], [])
    try:
        for text, is_error in output:
            streams[is_error].append(text)
    except CordwoodError as error:
        return b"".join(streams[0]).decode(), b"".join(streams[1]).decode(), error
    return b"".join(streams[0]).decode(), b"".join(streams[1]).decode(), None

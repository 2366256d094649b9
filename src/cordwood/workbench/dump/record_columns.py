"""Records of log files as Arrow or Parquet columns.

The columns are those of `records.columns`. On an error the stream or file is closed first, so that
the records before the error are readable.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.records.columns import read_columns, schema
from cordwood.records.decoder import ReadRequest, Selection
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.workbench.dump.batch_lines import batch_ranges
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpRun,
    OutputText,
    to_stderr,
    trailing_bytes_text,
)
from cordwood.workbench.file_window import FileWindow

_EVERYTHING: Final = Selection()


class _ByteBuffer:
    """A writable file whose written bytes can be taken out."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Do nothing: there is no lower layer."""

    def close(self) -> None:
        """Do nothing: the bytes stay until they are taken."""

    def take(self) -> OutputText:
        taken, self._pieces = b"".join(self._pieces), []
        return OutputText(taken)


def dump_columns(
    output_format: str, run: DumpRun, *, files: Sequence[DumpedFile]
) -> Iterator[OutputText]:
    """Yield the bytes of one Arrow stream, or one Parquet file, of all records."""
    outbox = _ByteBuffer()
    sink = pa.PythonFile(outbox, mode="w")
    is_stream = output_format == "arrow"
    writer = (pa.ipc.new_stream if is_stream else parquet.ParquetWriter)(sink, schema())
    try:
        for piece in chain.from_iterable(_pieces(run, file) for file in files):
            if isinstance(piece, OutputText):
                yield piece
                continue
            writer.write_batch(piece)
            yield outbox.take()
    except CordwoodError:
        writer.close()
        yield outbox.take()
        raise
    writer.close()
    yield outbox.take()


def _pieces(run: DumpRun, file: DumpedFile) -> Iterator[pa.RecordBatch | OutputText]:
    """Yield the records of a file in batches, and a message about trailing bytes."""
    decoder = run.decoder or PlainDecoder()
    request = ReadRequest(selection=run.options.selection or _EVERYTHING, limit=INT32_MAX)
    opened = run.files.open(file.path)
    try:
        window = FileWindow(opened, run.options.end_of(opened.size), on_bytes=run.on_bytes)
        end = 0
        for data in batch_ranges(window):
            end += len(data)
            yield from read_columns(data, decoder, request=request)
        if end < window.end and not run.options.is_cut:
            run.findings.is_damaged = True
            yield to_stderr(trailing_bytes_text(window.end - end, file))
    finally:
        opened.close()

"""The records of log files as columns, for programs that read Arrow or Parquet.

The columns are those of `records.columns`. What is written before a fault is a whole stream or
file: it is closed, then the fault rises.
"""

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError
from cordwood.records.chunk import Request, Selection
from cordwood.records.columns import read_columns, schema
from cordwood.workbench.dump_batches import stretches
from cordwood.workbench.dump_options import DumpedFile, Said, Tools, complained, cut_off
from cordwood.workbench.windows import Window

_EVERYTHING: Final = Selection()


class _Outbox:
    """A file that hands out what has been written to it."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: bytes) -> int:
        self._pieces.append(bytes(data))
        return len(data)

    def flush(self) -> None:
        """Hold nothing back: there is nothing behind this."""

    def close(self) -> None:
        """Keep what has been written until it is taken."""

    def take(self) -> Said:
        taken, self._pieces = b"".join(self._pieces), []
        return Said(taken)


def dump_columns(
    output_format: str, tools: Tools, *, files: Sequence[DumpedFile]
) -> Iterator[Said]:
    """Yield the bytes of one Arrow stream, or one Parquet file, of all records."""
    outbox = _Outbox()
    sink = pa.PythonFile(outbox, mode="w")
    is_stream = output_format == "arrow"
    writer = (pa.ipc.new_stream if is_stream else parquet.ParquetWriter)(sink, schema())
    try:
        for piece in chain.from_iterable(_pieces(tools, file) for file in files):
            if isinstance(piece, Said):
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


def _pieces(tools: Tools, file: DumpedFile) -> Iterator[pa.RecordBatch | Said]:
    """Yield the records of a file in batches, and a word on what is cut off behind them."""
    request = Request(selection=tools.options.selection or _EVERYTHING, limit=INT32_MAX)
    opened = tools.files.open(file.path)
    try:
        window = Window(opened, tools.options.end_of(opened.size), spend=tools.spend)
        end = 0
        for stretch in stretches(window):
            end += len(stretch)
            yield from read_columns(stretch, tools.decoder, request=request)
        if end < window.end and not tools.options.is_cut:
            tools.findings.is_damaged = True
            yield complained(cut_off(window.end - end, file))
    finally:
        opened.close()

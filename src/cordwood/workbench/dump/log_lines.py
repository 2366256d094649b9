"""Log files and KRaft snapshots as text: batches and, on request, their records.

Text is returned in pieces of a megabyte. The text before an error is returned before it is raised.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError, DamagedFileError
from cordwood.records.record_lines import NOTHING, LineStyle, PlainLineWriter, RecordLines
from cordwood.workbench.dump.batch_lines import DumpedBatch, batch_line, walk_batches
from cordwood.workbench.dump.control_record_lines import control_lines
from cordwood.workbench.dump.dump_options import (
    DumpedFile,
    DumpOptions,
    DumpRun,
    OutputText,
    to_stdout,
    trailing_bytes_text,
)
from cordwood.workbench.dump.legacy_message_lines import message_lines
from cordwood.workbench.file_window import FileWindow

#: The size of a piece of text.
TEXT_BYTES: Final = 1 << 20
BOOTSTRAP: Final = "bootstrap.checkpoint"

_OFFSET_WIDTH: Final = 20
_EPOCH_WIDTH: Final = 10


def dump_log(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump a segment."""
    yield to_stdout(f"Log starting offset: {file.base_offset}\n")
    yield from _dump_batches(run, file)


def dump_checkpoint(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    """Dump a KRaft metadata snapshot, which has the layout of a segment."""
    if file.name == BOOTSTRAP:
        yield to_stdout("KRaft bootstrap snapshot\n")
    else:
        offset, epoch = _snapshot_id(file)
        yield to_stdout(f"Snapshot end offset: {offset}, epoch: {epoch}\n")
    yield from _dump_batches(run, file)


def _dump_batches(run: DumpRun, file: DumpedFile) -> Iterator[OutputText]:
    opened = run.files.open(file.path)
    try:
        end = run.options.end_of(opened.size)
        yield from _dump_window(run, file, FileWindow(opened, end, on_bytes=run.on_bytes))
    finally:
        opened.close()


def _dump_window(run: DumpRun, file: DumpedFile, window: FileWindow) -> Iterator[OutputText]:
    """Yield the lines in large pieces; the lines before an error come first."""
    texts: list[bytes] = []
    held = position = 0
    try:
        for text, position in _batch_lines(run, file, window):  # noqa: B007  # the last end counts
            texts.append(text)
            held += len(text)
            if held >= TEXT_BYTES:
                yield OutputText(b"".join(texts))
                texts, held = [], 0
    except CordwoodError:
        yield OutputText(b"".join(texts))
        raise
    yield OutputText(b"".join(texts))
    trailing = window.end - position
    if trailing > 0 and not run.options.is_cut:
        run.findings.is_damaged = True
        yield to_stdout(trailing_bytes_text(trailing, file))


def _batch_lines(run: DumpRun, file: DumpedFile, window: FileWindow) -> Iterator[tuple[bytes, int]]:
    """Yield the line of each batch, then the lines of its records, with the end of the batch."""
    selection = run.options.selection
    style = _style(run.options) if run.options.has_records else None
    previous = -1 if selection is None else NOTHING
    for batch in walk_batches(window):
        end = batch.position + batch.size
        if not batch.is_selected(selection):
            yield b"", end
            continue
        line, is_valid = batch_line(batch)
        run.findings.is_damaged |= not is_valid
        yield line, end
        batch.place.codec(batch.attributes)
        if style is None:
            continue
        found = _record_lines(run, batch, style, previous=previous)
        previous = found.last_offset
        run.findings.add_gaps(file.path, found.gaps)
        yield found.text, end
        if found.error is not None:
            raise found.error


def _style(options: DumpOptions) -> LineStyle:
    return LineStyle(
        has_metadata=not options.skip_metadata,
        has_data=options.has_data,
        selection=options.selection,
        key_text=options.key_text,
        value_text=options.value_text,
        record_texts=None if options.record_parser is None else options.record_parser.texts,
        limit=INT32_MAX,
    )


def _record_lines(
    run: DumpRun, batch: DumpedBatch, style: LineStyle, *, previous: int
) -> RecordLines:
    if batch.is_old:
        return message_lines(batch, style, previous=previous)
    if batch.is_control:
        return control_lines(batch.as_v2(), style, previous=previous)
    writer = run.writer if style.record_texts is None else PlainLineWriter()
    return writer.write(batch.as_v2(), style, previous=previous)


def _snapshot_id(file: DumpedFile) -> tuple[int, int]:
    """Return the offset and epoch in the name of a snapshot."""
    offset = file.name[:_OFFSET_WIDTH]
    epoch = file.name[_OFFSET_WIDTH + 1 : _OFFSET_WIDTH + 1 + _EPOCH_WIDTH]
    if offset.isdecimal() and epoch.isdecimal():
        return int(offset), int(epoch)
    raise DamagedFileError(
        "the name is not that of a snapshot",
        path=file.path,
        expected="20 digits, a dash, 10 digits",
        found=file.name,
        remedy="restore its original name",
    )

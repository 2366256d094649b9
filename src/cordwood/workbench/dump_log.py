"""Log files and snapshots of the quorum as text: batches and, when asked, their records.

Text comes in pieces of a megabyte; what lies before a fault comes before the fault rises.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.core.binary import INT32_MAX
from cordwood.core.errors import CordwoodError, DamagedFileError
from cordwood.records.lines import NOTHING, LineStyle, RecordLines
from cordwood.workbench.dump_batches import DumpedBatch, batch_line, walk
from cordwood.workbench.dump_control import control_lines
from cordwood.workbench.dump_messages import message_lines
from cordwood.workbench.dump_options import DumpedFile, DumpOptions, Said, Tools, cut_off, said
from cordwood.workbench.windows import Window

#: As much text as is handed out at once.
TEXT_BYTES: Final = 1 << 20
BOOTSTRAP: Final = "bootstrap.checkpoint"

_OFFSET_WIDTH: Final = 20
_EPOCH_WIDTH: Final = 10


def dump_log(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump a segment."""
    yield said(f"Log starting offset: {file.base_offset}\n")
    yield from _dump_batches(tools, file)


def dump_checkpoint(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    """Dump a snapshot of the quorum's metadata, which is laid out as a segment."""
    if file.name == BOOTSTRAP:
        yield said("KRaft bootstrap snapshot\n")
    else:
        offset, epoch = _snapshot_id(file)
        yield said(f"Snapshot end offset: {offset}, epoch: {epoch}\n")
    yield from _dump_batches(tools, file)


def _dump_batches(tools: Tools, file: DumpedFile) -> Iterator[Said]:
    opened = tools.files.open(file.path)
    try:
        end = tools.options.end_of(opened.size)
        yield from _dump_window(tools, file, Window(opened, end, spend=tools.spend))
    finally:
        opened.close()


def _dump_window(tools: Tools, file: DumpedFile, window: Window) -> Iterator[Said]:
    """Yield the lines in large pieces, and those before a fault before it rises."""
    texts: list[bytes] = []
    held = position = 0
    try:
        for text, position in _batch_lines(tools, file, window):  # noqa: B007  # the last end counts
            texts.append(text)
            held += len(text)
            if held >= TEXT_BYTES:
                yield Said(b"".join(texts))
                texts, held = [], 0
    except CordwoodError:
        yield Said(b"".join(texts))
        raise
    yield Said(b"".join(texts))
    trailing = window.end - position
    if trailing > 0 and not tools.options.is_cut:
        tools.findings.is_damaged = True
        yield said(cut_off(trailing, file))


def _batch_lines(tools: Tools, file: DumpedFile, window: Window) -> Iterator[tuple[bytes, int]]:
    """Yield a batch's line, then its records' lines, and where the batch ends."""
    selection = tools.options.selection
    style = _style(tools.options) if tools.options.has_records else None
    previous = -1 if selection is None else NOTHING
    for batch in walk(window):
        end = batch.position + batch.size
        if not batch.is_wanted(selection):
            yield b"", end
            continue
        line, is_valid = batch_line(batch)
        tools.findings.is_damaged |= not is_valid
        yield line, end
        batch.place.codec(batch.attributes)
        if style is None:
            continue
        found = _record_lines(tools, batch, style, previous=previous)
        previous = found.last_offset
        tools.findings.add_gaps(file.path, found.gaps)
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
        limit=INT32_MAX,
    )


def _record_lines(
    tools: Tools, batch: DumpedBatch, style: LineStyle, *, previous: int
) -> RecordLines:
    if batch.is_old:
        return message_lines(batch, style, previous=previous)
    if batch.is_control:
        return control_lines(batch.as_v2(), style, previous=previous)
    return tools.writer.write(batch.as_v2(), style, previous=previous)


def _snapshot_id(file: DumpedFile) -> tuple[int, int]:
    """Return the offset and the epoch in the name of a snapshot."""
    offset = file.name[:_OFFSET_WIDTH]
    epoch = file.name[_OFFSET_WIDTH + 1 : _OFFSET_WIDTH + 1 + _EPOCH_WIDTH]
    if offset.isdecimal() and epoch.isdecimal():
        return int(offset), int(epoch)
    raise DamagedFileError(
        "a name that no snapshot has",
        path=file.path,
        expected="20 digits, a dash, 10 digits",
        found=file.name,
        remedy="give it the name that it had",
    )

"""Drawing of a log as lines of text of a given width.

    [▒▒▒▒▒▒▒][███████████][███]      a segment each, as wide as its share of the offsets
       ^ 12 high watermark           marks below it, a line each

`▒` is compacted. Below the marks is a table of segments, with their sizes as bars.
"""

from collections.abc import Iterator
from typing import Final

from cordwood.workbench.picture.log_picture import LogPicture, PictureSegment
from cordwood.workbench.quantities import size_text, time_text

#: A narrower drawing has no room for its marks.
LEAST_WIDTH: Final = 40
_COMPACTED, _DATA, _EMPTY = "▒", "█", "░"
#: The most segments in the table; of more, the first and the last ones are shown.
_MOST_ROWS: Final = 20
_TITLES: Final = ("SEGMENT", "LAST OFFSET", "SIZE", "FIRST BATCH", "LATEST")
_FIRST_BATCH: Final = _TITLES.index("FIRST BATCH")
#: With fewer columns for the bars of sizes, a column of times is left out.
_LEAST_ROOM: Final = 10
_EIGHTHS: Final = " ▏▎▍▌▋▊▉"


def picture_lines(picture: LogPicture, *, width: int) -> list[str]:
    """Return the lines of a drawing."""
    width = max(width, LEAST_WIDTH)
    count = len(picture.segments)
    title = f"{picture.path}: {size_text(picture.size)} in {count:,} segment"
    return [
        title if count == 1 else f"{title}s",
        _bar(picture, width),
        *_marks(picture, width),
        *_table(picture, width),
    ]


def _column(picture: LogPicture, offset: int, width: int) -> int:
    """Return the column of an offset."""
    span = max(1, picture.log_end - picture.first_offset)
    return min(width - 1, (offset - picture.first_offset) * width // span)


def _bar(picture: LogPicture, width: int) -> str:
    cells = [_EMPTY] * width
    cleaned = picture.first_offset if picture.cleaned_to is None else picture.cleaned_to
    for segment in picture.segments:
        start = _column(picture, segment.base_offset, width)
        end = max(start + 1, _column(picture, segment.end_offset, width))
        if segment.end_offset >= picture.log_end:
            end = width
        for at in range(start, end if segment.size else start):
            cells[at] = _COMPACTED if at < _column(picture, cleaned, width) else _DATA
        if end - start > 2:
            cells[start], cells[end - 1] = "[", "]"
    return "".join(cells)


def _marks(picture: LogPicture, width: int) -> Iterator[str]:
    """Yield a line for each marked offset, with its name on the side that has room."""
    for name, offset in picture.marks.items():
        at, text = _column(picture, offset, width), f"{offset:,} {name}"
        if at + 2 + len(text) <= width:
            yield f"{' ' * at}^ {text}"
        else:
            yield f"{text} ^".rjust(at + 1)


def _table(picture: LogPicture, width: int) -> Iterator[str]:
    shown = _shown(picture)
    rows = [_cells(each) for each in shown if each is not None]
    widths = [max(map(len, column)) for column in zip(_TITLES, *rows, strict=True)]
    largest = max((each.size for each in picture.segments), default=0)
    room = width - sum(widths) - 2 * len(widths)
    if room < _LEAST_ROOM:
        room += widths[_FIRST_BATCH] + 2
        widths[_FIRST_BATCH] = 0
    yield _line(_TITLES, widths)
    for segment in shown:
        if segment is None:
            yield f"... {len(picture.segments) - _MOST_ROWS:,} more segments"
            continue
        line = _line(_cells(segment), widths)
        yield f"{line}  {_size_bar(segment.size, largest, room)}".rstrip()


def _shown(picture: LogPicture) -> list[PictureSegment | None]:
    """Return the segments of the table; None stands for those that are left out."""
    segments, half = list(picture.segments), _MOST_ROWS // 2
    if len(segments) <= _MOST_ROWS:
        return [*segments]
    return [*segments[:half], None, *segments[-half:]]


def _cells(segment: PictureSegment) -> tuple[str, ...]:
    return (
        f"{segment.base_offset:,}",
        f"{segment.end_offset - 1:,}" if segment.end_offset > segment.base_offset else "-",
        size_text(segment.size),
        time_text(segment.first_ms),
        time_text(segment.largest_ms),
    )


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    """Return a line; a column of width 0 is left out."""
    pairs = zip(cells, widths, strict=True)
    return "  ".join(cell.rjust(width) for cell, width in pairs if width)


def _size_bar(size: int, largest: int, room: int) -> str:
    """Return a bar in eighths of a column; nothing without room for one."""
    if room <= 0 or not largest:
        return ""
    whole, rest = divmod(size * room * 8 // largest, 8)
    return _DATA * whole + (_EIGHTHS[rest] if rest else "")

"""Drawing of a log as an SVG document, readable on light and dark backgrounds.

The upper bar has the segments by their offsets, with the marked offsets below it. The lower bars
have the sizes of the segments, each with its times.
"""

from collections.abc import Iterator
from html import escape
from typing import Final

from cordwood.core.counts import offsets_of_log
from cordwood.workbench.picture.log_picture import LogPicture, PictureSegment
from cordwood.workbench.quantities import size_text, time_text

_WIDTH: Final = 960
_MARGIN: Final = 24
_BAR: Final = _WIDTH - 2 * _MARGIN
_ROW: Final = 22
_TOP: Final = 56
_LABEL: Final = 480
#: A narrow window scales the drawing down.
_FIT: Final = "max-width:100%;height:auto"
#: The most segments with a bar of their own; of more, the last ones have one.
_MOST_ROWS: Final = 200
_STYLE: Final = (
    "text{font:13px sans-serif;fill:#222}.title{font-weight:bold;font-size:15px}"
    ".data{fill:#4078c0;stroke:#fff}.compacted{fill:#8a63d2;stroke:#fff}.mark{stroke:#d03030}"
    ".size{fill:#4078c0}.page{fill:#fff}"
)


def picture_svg(picture: LogPicture) -> str:
    """Return the document."""
    shown = picture.segments[-_MOST_ROWS:]
    marks = list(picture.marks.items())
    table = _TOP + 40 + _ROW * len(marks) + 30
    height = table + _ROW * len(shown) + _MARGIN
    box = f'viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img" style="{_FIT}">',
        f"<title>{escape(picture.path)}</title><style>{_STYLE}</style>",
        f'<rect class="page" width="{_WIDTH}" height="{height}"/>',
        _text(_MARGIN, 24, picture.path, css="title"),
        _text(_MARGIN, 44, _summary(picture)),
        *_segments(picture),
        *_marks(picture, marks),
        *_sizes(picture, shown, table),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _summary(picture: LogPicture) -> str:
    return (
        f"{offsets_of_log(picture.log_start, picture.log_end)}, {size_text(picture.size)} in "
        f"{len(picture.segments):,} segments; purple: compacted"
    )


def _x(picture: LogPicture, offset: int) -> float:
    span = max(1, picture.log_end - picture.first_offset)
    return round(_MARGIN + (offset - picture.first_offset) * _BAR / span, 2)


def _segments(picture: LogPicture) -> Iterator[str]:
    """Yield a rectangle for each segment; one is split where its compacted part ends."""
    cleaned = picture.first_offset if picture.cleaned_to is None else picture.cleaned_to
    for each in picture.segments:
        middle = min(max(cleaned, each.base_offset), each.end_offset)
        tip = f"segment {each.base_offset:,}: {size_text(each.size)}"
        for css, first, end in (
            ("compacted", each.base_offset, middle),
            ("data", middle, each.end_offset),
        ):
            if end > first:
                x = _x(picture, first)
                width = round(_x(picture, end) - x, 2)
                yield (
                    f'<rect class="{css}" x="{x}" y="{_TOP}" width="{width}" height="24">'
                    f"<title>{tip}</title></rect>"
                )


def _marks(picture: LogPicture, marks: list[tuple[str, int]]) -> Iterator[str]:
    for number, (name, offset) in enumerate(marks):
        x, y = _x(picture, offset), _TOP + 44 + _ROW * number
        is_left = x > _WIDTH / 2
        yield f'<line class="mark" x1="{x}" x2="{x}" y1="{_TOP - 4}" y2="{y}"/>'
        anchor = "end" if is_left else "start"
        yield _text(x - 6 if is_left else x + 6, y, f"{offset:,} {name}", anchor=anchor)


def _sizes(picture: LogPicture, shown: tuple[PictureSegment, ...], top: int) -> Iterator[str]:
    largest = max((each.size for each in picture.segments), default=0) or 1
    yield _text(_MARGIN, top - 8, "segment")
    yield _text(_MARGIN + _LABEL - 12, top - 8, "first batch, latest time", anchor="end")
    yield _text(_MARGIN + _LABEL, top - 8, "size")
    for number, each in enumerate(shown):
        y = top + _ROW * number
        width = round((_BAR - _LABEL - 90) * each.size / largest, 2)
        times = f"{time_text(each.first_ms)} to {time_text(each.largest_ms)}"
        yield _text(_MARGIN, y + 14, f"{each.base_offset:,}")
        yield _text(_MARGIN + _LABEL - 12, y + 14, times, anchor="end")
        yield f'<rect class="size" x="{_MARGIN + _LABEL}" y="{y + 3}" width="{width}" height="14"/>'
        yield _text(_MARGIN + _LABEL + width + 8, y + 14, size_text(each.size))


def _text(x: float, y: float, text: str, *, css: str = "", anchor: str = "start") -> str:
    name = f' class="{css}"' if css else ""
    return f'<text{name} x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'

"""Drawings as text."""

import pytest

from cordwood.workbench.picture.log_picture import (
    LogPicture,
    PictureSegment,
    PictureTransaction,
)
from cordwood.workbench.picture.picture_lines import picture_lines

DAY = 86_400_000


def picture(*sizes: int, **known: int) -> LogPicture:
    """Return a log with a segment of ten offsets for each size."""
    segments = tuple(
        PictureSegment(10 * at, 10 * at + 10, size, DAY if size else -1, 2 * DAY if size else -1)
        for at, size in enumerate(sizes)
    )
    return LogPicture(
        path="/d/t-0",
        log_start=0,
        log_end=10 * len(sizes),
        high_watermark=known.get("high_watermark"),
        recovery_point=None,
        cleaned_to=known.get("cleaned_to"),
        segments=segments,
        transactions=(PictureTransaction(7, 12),) if "open" in known else (),
    )


def test_bar_has_the_segments_and_the_compacted_part() -> None:
    lines = picture_lines(picture(100, 200, cleaned_to=10), width=40)

    assert lines[0] == "/d/t-0: 300 B in 2 segments"
    assert lines[1] == f"[{'▒' * 18}][{'█' * 18}]"


def test_marks_stand_below_their_offsets() -> None:
    lines = picture_lines(picture(100, 200, high_watermark=18, open=1), width=60)

    assert lines[2:6] == [
        "^ 0 log start",
        f"{'18 high watermark ^':>55}",
        f"{'12 open transaction of producer 7 ^':>37}",
        f"{'20 log end ^':>60}",
    ]


@pytest.mark.parametrize("width", (10, 80, 140))
def test_no_line_is_wider_than_the_drawing(width: int) -> None:
    lines = picture_lines(picture(*range(1, 200)), width=width)

    assert max(map(len, lines[1:])) <= max(width, 60)
    assert "... 179 more segments" in lines


def test_table_has_times_and_sizes() -> None:
    wide = picture_lines(picture(100, 0), width=120)[-2:]

    assert wide[0].split()[:4] == ["0", "9", "100", "B"]
    assert "1970-01-02T00:00:00Z  1970-01-03T00:00:00Z" in wide[0]
    assert wide[1].split() == ["10", "19", "0", "B", "-", "-"]
    assert "1970-01-02" not in picture_lines(picture(100), width=60)[-1]


def test_empty_log_is_drawn() -> None:
    empty = LogPicture(
        path="/d/t-0",
        log_start=5,
        log_end=5,
        high_watermark=5,
        recovery_point=None,
        cleaned_to=None,
        segments=(PictureSegment(5, 5, 0, -1, -1),),
    )

    lines = picture_lines(empty, width=40)

    assert lines[0] == "/d/t-0: 0 B in 1 segment"
    assert "^ 5 log end" in lines

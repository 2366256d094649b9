"""One more row: its selection, its cost, and the remaining capacity."""

import numpy as np
import pytest

from cordwood.records.decoder import Chunking, ReadRequest, Selection
from cordwood.records.kernels import layout as at
from cordwood.records.kernels.legacy_row import is_selected, put_numbers, room
from cordwood.records.kernels.v2_record import Record
from tests.unit.records.kernels.words import canvas_of

#: A key of 60 bytes, a null value.
RECORD: Record = (0, 0, 0, 60, 0, -1, 0, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("offset", "timestamp", "expected"),
    ((3, 30, True), (5, 50, True), (2, 40, False), (6, 40, False), (4, 29, False), (4, 51, False)),
)
def test_row_is_selected_when_both_ranges_contain_it(
    offset: int, timestamp: int, *, expected: bool
) -> None:
    ranges = Selection(first_offset=3, last_offset=5, min_timestamp=30, max_timestamp=50)
    plan = canvas_of(ReadRequest(selection=ranges)).plan

    assert is_selected(offset, timestamp, plan) == expected


@pytest.mark.parametrize(
    ("columns", "cost"),
    ((("key",), 60), (("value",), 0), (("headers",), 0), (("key", "value"), 60), (("offset",), 0)),
)
def test_cost_of_a_row_covers_the_selected_columns(columns: tuple[str, ...], cost: int) -> None:
    canvas = canvas_of(ReadRequest(columns=columns))
    assert len(canvas.slab) > 0

    assert room(RECORD, canvas.plan, canvas.state) == at.DONE
    assert int(canvas.state[at.F_BYTES]) == cost


@pytest.mark.parametrize(
    ("chunking", "rows", "expected"),
    (
        (Chunking(max_bytes=60), 0, at.DONE),
        (Chunking(max_bytes=59), 0, at.GROW),
        (Chunking(max_bytes=59), 1, at.FULL),
        (Chunking(max_rows=1), 1, at.FULL),
    ),
)
def test_row_fits_when_rows_and_bytes_are_left(
    chunking: Chunking, rows: int, expected: int
) -> None:
    canvas = canvas_of(ReadRequest(chunking=chunking))
    assert len(canvas.slab) > 0
    canvas.state[at.F_ROWS] = rows

    assert room(RECORD, canvas.plan, canvas.state) == expected
    assert expected == at.DONE or int(canvas.state[at.F_NEEDED]) == 60


def test_numbers_are_written_where_the_row_is() -> None:
    plan = np.full(at.PLAN_WORDS, -1, np.int64)
    plan[at.P_OFFSET], plan[at.P_SEQUENCE] = 0, 64
    slab = np.zeros(128, np.uint8)

    put_numbers(70, 80, -1, slab, plan, 2)

    assert slab[:32].view(np.int64).tolist() == [0, 0, 70, 0]
    assert slab[64:80].view(np.int32).tolist() == [0, 0, -1, 0]

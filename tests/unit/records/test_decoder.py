"""Requests to a decoder: ranges that include both ends, valid bounds, known columns."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from cordwood.core.binary import INT64_MAX, INT64_MIN
from cordwood.core.errors import SettingError
from cordwood.records.decoder import (
    COLUMNS,
    MOST_ROWS,
    AbortedProducers,
    AbortedTransaction,
    Chunking,
    ReadRequest,
    Selection,
    Step,
    step_of,
)


@pytest.mark.parametrize(("last_offset", "is_outside"), ((9, True), (10, False), (11, False)))
def test_batch_that_ends_before_the_selection_is_outside(
    last_offset: int, *, is_outside: bool
) -> None:
    selection = Selection(first_offset=10)

    assert selection.is_outside(5, last_offset, max_timestamp=-1) is is_outside


@pytest.mark.parametrize(("max_timestamp", "is_outside"), ((99, True), (100, False), (0, True)))
def test_batch_older_than_the_selection_is_outside(max_timestamp: int, *, is_outside: bool) -> None:
    selection = Selection(min_timestamp=100)

    assert selection.is_outside(5, 9, max_timestamp=max_timestamp) is is_outside


def test_batch_without_timestamps_is_not_outside() -> None:
    selection = Selection(min_timestamp=100)

    assert not selection.is_outside(5, 9, max_timestamp=-1)


@pytest.mark.parametrize(("base", "last"), ((-1, 3), (4, 3), (0, INT64_MAX + 1)))
def test_batch_with_impossible_offsets_is_not_outside(base: int, last: int) -> None:
    selection = Selection(first_offset=10, min_timestamp=100)

    assert not selection.is_outside(base, last, max_timestamp=50)


@pytest.mark.parametrize(("offset", "has"), ((2, False), (3, True), (5, True), (6, False)))
def test_selection_has_both_ends_of_its_offsets(offset: int, *, has: bool) -> None:
    selection = Selection(first_offset=3, last_offset=5)

    assert selection.has(offset, 1000) is has


@pytest.mark.parametrize(("timestamp", "has"), ((29, False), (30, True), (50, True), (51, False)))
def test_selection_has_both_ends_of_its_times(timestamp: int, *, has: bool) -> None:
    selection = Selection(min_timestamp=30, max_timestamp=50)

    assert selection.has(7, timestamp) is has


def test_default_selection_has_every_record() -> None:
    selection = Selection()

    assert selection.has(0, -1)
    assert selection.has(INT64_MAX, INT64_MAX)
    assert not selection.is_outside(0, 0, max_timestamp=0)


@pytest.mark.parametrize("rows", (0, -1, MOST_ROWS + 1))
def test_row_limit_out_of_bounds_is_rejected(rows: int) -> None:
    with pytest.raises(SettingError, match=f"max_rows = {rows}") as caught:
        Chunking(max_rows=rows)

    assert (caught.value.key, caught.value.remedy) == (
        "max_rows",
        "choose a number from 1 to 67108864",
    )


@pytest.mark.parametrize("size", (0, 1 << 30))
def test_byte_limit_out_of_bounds_is_rejected(size: int) -> None:
    with pytest.raises(SettingError, match=f"max_bytes = {size}") as caught:
        Chunking(max_bytes=size)

    assert (caught.value.key, caught.value.remedy) == (
        "max_bytes",
        "choose a number from 1 to 1073741823",
    )


def test_chunking_accepts_both_ends_of_its_bounds() -> None:
    least = Chunking(max_rows=1, max_bytes=1)
    most = Chunking(max_rows=MOST_ROWS, max_bytes=(1 << 30) - 1)

    assert (least.max_rows, least.max_bytes) == (1, 1)
    assert (most.max_rows, most.max_bytes) == (1 << 26, (1 << 30) - 1)


@pytest.mark.parametrize("number", ("5", 5.9, None))
def test_selection_rejects_a_number_that_is_not_an_integer(number: int) -> None:
    with pytest.raises(SettingError, match="choose a whole number") as caught:
        Selection(last_offset=number)

    assert caught.value.key == "last_offset"


def test_request_has_all_columns_by_default() -> None:
    request = ReadRequest()

    assert request.columns == COLUMNS
    assert request.selection == Selection()
    assert (request.is_view, request.check_crc) == (False, True)


def test_request_rejects_an_unknown_column() -> None:
    with pytest.raises(SettingError, match="no column 'topic'") as caught:
        ReadRequest(columns=("offset", "topic"))

    assert caught.value.key == "columns"
    assert caught.value.remedy.startswith("choose from offset, timestamp")


@pytest.mark.parametrize("columns", ((), ("key", "offset", "key")))
def test_request_rejects_empty_or_repeated_columns(columns: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="some, each once") as caught:
        ReadRequest(columns=columns)

    assert caught.value.key == "columns"


@pytest.mark.parametrize("listed", (AbortedTransaction(7, 10), (7, 10)))
def test_aborted_drops_a_producer_when_its_first_offset_is_reached(
    listed: AbortedTransaction,
) -> None:
    aborted = AbortedProducers([listed])

    aborted.reach(9)
    before = aborted.is_aborted(7)
    aborted.reach(10)

    assert (before, aborted.is_aborted(7), aborted.is_aborted(8)) == (False, True, False)


def test_aborted_keeps_a_producer_when_its_marker_has_been_read() -> None:
    aborted = AbortedProducers([AbortedTransaction(7, 0)])
    aborted.reach(0)

    aborted.end(7)

    assert not aborted.is_aborted(7)
    assert aborted.is_idle


def test_aborted_transactions_are_sorted_by_offset() -> None:
    aborted = AbortedProducers([AbortedTransaction(2, 20), AbortedTransaction(1, 10)])

    aborted.reach(15)

    assert (aborted.is_aborted(1), aborted.is_aborted(2)) == (True, False)


def test_aborted_drops_a_producer_again_when_its_second_transaction_was_aborted() -> None:
    aborted = AbortedProducers([AbortedTransaction(1, 10), AbortedTransaction(1, 30)])
    aborted.reach(10)
    aborted.end(1)
    between = aborted.is_aborted(1)

    aborted.reach(30)

    assert (between, aborted.is_aborted(1)) == (False, True)


def test_aborted_producers_are_idle_without_aborted_transactions() -> None:
    aborted = AbortedProducers([])

    aborted.end(5)

    assert aborted.is_idle
    assert not AbortedProducers([AbortedTransaction(1, 5)]).is_idle


@pytest.mark.parametrize("columns", ((), ("offset", "offset"), ("offset", "colour")))
def test_request_rejects_invalid_columns(columns: tuple[str, ...]) -> None:
    with pytest.raises(SettingError, match="choose from offset, timestamp"):
        ReadRequest(columns=columns)


@pytest.mark.parametrize("number", (INT64_MAX + 1, INT64_MIN - 1))
@pytest.mark.parametrize(
    ("key", "select"),
    (
        ("first_offset", lambda number: Selection(first_offset=number)),
        ("last_offset", lambda number: Selection(last_offset=number)),
        ("min_timestamp", lambda number: Selection(min_timestamp=number)),
        ("max_timestamp", lambda number: Selection(max_timestamp=number)),
    ),
)
def test_selection_rejects_a_number_of_more_than_64_bits(
    key: str, select: Callable[[int], Selection], number: int
) -> None:
    with pytest.raises(SettingError, match="of 64 bits") as caught:
        select(number)

    assert caught.value.key == key


@pytest.mark.parametrize("number", (2.5, "9", None))
def test_chunking_rejects_a_number_that_is_not_an_integer(number: int) -> None:
    for key in ("max_rows", "max_bytes"):
        with pytest.raises(SettingError, match=f"{key} = {number}") as caught:
            replace(Chunking(), **{key: number})
        assert caught.value.key == key


@pytest.mark.parametrize("is_transactional", (True, False))
@pytest.mark.parametrize("aborted", (None, [], [(8, 0)], [(7, 6)]))
@pytest.mark.parametrize(
    ("is_control", "is_outside", "expected"),
    (
        (False, False, Step.ROWS),
        (True, False, Step.CHECK),
        (False, True, Step.SKIP),
        (True, True, Step.SKIP),
    ),
)
def test_step_follows_the_selection_for_batches_that_are_not_aborted(
    aborted: list[AbortedTransaction] | None,
    expected: Step,
    *,
    is_control: bool,
    is_outside: bool,
    is_transactional: bool,
) -> None:
    step = step_of(
        None if aborted is None else AbortedProducers(aborted),
        producer_id=7,
        last_offset=5,
        is_control=is_control,
        is_transactional=is_transactional,
        is_outside=is_outside,
    )

    assert step is expected


@pytest.mark.parametrize(
    ("is_control", "is_transactional", "is_outside", "expected"),
    (
        (False, True, False, Step.CHECK),
        (False, False, False, Step.ROWS),
        (False, True, True, Step.SKIP),
        (True, True, False, Step.END),
        (True, False, True, Step.END),
    ),
)
def test_step_follows_the_transaction_when_its_producer_is_dropped(
    expected: Step, *, is_control: bool, is_transactional: bool, is_outside: bool
) -> None:
    step = step_of(
        AbortedProducers([AbortedTransaction(7, 5)]),
        producer_id=7,
        last_offset=5,
        is_control=is_control,
        is_transactional=is_transactional,
        is_outside=is_outside,
    )

    assert step is expected


def test_step_drops_no_batch_without_a_producer() -> None:
    step = step_of(
        AbortedProducers([AbortedTransaction(-1, 0)]),
        producer_id=-1,
        last_offset=5,
        is_control=False,
        is_transactional=True,
        is_outside=False,
    )

    assert step is Step.ROWS

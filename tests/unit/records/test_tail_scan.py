"""Tail scans of both scanners: their end, their notable batches, and their index entries.

Without a scanner every batch is handled singly.
"""

from typing import Final, Protocol

import pytest

from cordwood.core.binary import INT32_MAX, INT64_MAX
from cordwood.records.batch_builder import BatchFields
from cordwood.records.compression import Codec
from cordwood.records.kernels.tail_scan import ROWS, KernelTailScanner
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.records.tail_scan import (
    SHORT_STRIDE,
    PlainTailScanner,
    ScannedIndexEntry,
    ScanPacing,
    ScanState,
    TailScan,
    no_tail_scanner,
)
from tests.unit.records.stride_samples import FOOTING, NOBODY, PRODUCER, SIZE, batch

Kind = type[PlainTailScanner] | type[KernelTailScanner]
KINDS: Final[tuple[Kind, ...]] = (PlainTailScanner, KernelTailScanner)


class Strides(Protocol):
    """Strides over batches with one of the two."""

    def __call__(self, *batches: bytes, footing: ScanState = FOOTING) -> TailScan:
        """Return the stride."""


@pytest.fixture(params=KINDS, ids=("plain", "kernel"))
def strides(request: pytest.FixtureRequest) -> Strides:
    def go(*batches: bytes, footing: ScanState = FOOTING) -> TailScan:
        stride: TailScan = request.param().stride(b"".join(batches), footing)
        return stride

    return go


def test_scan_covers_all_runs_of_ordinary_batches(strides: Strides) -> None:
    codecs = (Codec.NONE, Codec.NONE, Codec.GZIP, Codec.NONE)
    runs = [batch(at, NOBODY._replace(codec=codec)) for at, codec in enumerate(codecs)]
    more = [batch(at) for at in range(4, 2 * ROWS)]

    found = strides(*runs, *more)

    assert (found.batches, found.footing.next_offset) == (2 * ROWS, 2 * ROWS)
    assert found.end == sum(map(len, (*runs, *more)))
    assert found.heard == [0]


@pytest.mark.parametrize(
    "other",
    (
        batch(1, PRODUCER._replace(is_transactional=True)),
        batch(1, PRODUCER._replace(is_control=True)),
        batch(0),
        batch(INT32_MAX + 1),
        batch(INT32_MAX, count=2),
        batch(1)[:-1] + b"\xff",
        batch(1)[20:],
        bytes(SIZE),
    ),
    ids=("transaction", "control", "offset", "far", "far_end", "bit", "torn", "zeros"),
)
def test_scan_ends_before_a_batch_that_is_not_ordinary(strides: Strides, other: bytes) -> None:
    found = strides(batch(0), other, batch(2))

    assert (found.end, found.batches) == (SIZE, 1)


@pytest.mark.parametrize("left", (0, 1, 16, 17, 60, SIZE - 1))
def test_scan_ends_at_the_last_whole_batch(strides: Strides, left: int) -> None:
    found = strides(batch(0), batch(1), batch(2)[:left])

    assert (found.end, found.batches) == (2 * SIZE, 2)


def test_scan_ends_before_an_old_message(strides: Strides) -> None:
    old = LegacyBuilder(1, base_offset=1)
    old.append(b"key", b"value", timestamp=5)

    assert strides(batch(0), bytes(old.build())).end == SIZE


def test_scan_ends_before_the_largest_offset(strides: Strides) -> None:
    footing = FOOTING._replace(next_offset=INT64_MAX - 1, highest_offset=INT64_MAX + 5)

    found = strides(batch(INT64_MAX - 1), batch(INT64_MAX), footing=footing)

    assert (found.batches, found.footing.next_offset) == (1, INT64_MAX)


def test_scan_reports_the_first_batch_of_a_later_epoch(strides: Strides) -> None:
    epochs = (3, 3, 2, 4, 4)
    batches = (batch(at, BatchFields(0, epoch)) for at, epoch in enumerate(epochs))

    assert strides(*batches).heard == [0, 3 * SIZE]


def test_scan_reports_the_first_and_the_last_five_batches_of_a_producer(strides: Strides) -> None:
    batches = (batch(at, PRODUCER) for at in range(9))

    assert strides(*batches).heard == [at * SIZE for at in (0, 4, 5, 6, 7, 8)]


def test_scan_reports_the_batches_of_each_producer_epoch(strides: Strides) -> None:
    epochs = (0,) * 7 + (1,) * 7
    batches = (batch(at, PRODUCER._replace(producer_epoch=e)) for at, e in enumerate(epochs))

    found = strides(*batches)

    assert found.heard == [at * SIZE for at in (0, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12, 13)]


def test_scan_returns_the_index_entries(strides: Strides) -> None:
    footing = FOOTING._replace(interval_bytes=SIZE, bytes_since_entry=SIZE)
    times = (5, 9, 7, 7)

    found = strides(*(batch(at, timestamp=t) for at, t in enumerate(times)), footing=footing)

    assert found.entries == [ScannedIndexEntry(1, SIZE, 9, 1), ScannedIndexEntry(3, 3 * SIZE, 9, 1)]
    assert found.footing == footing._replace(
        next_offset=4, bytes_since_entry=SIZE, latest_timestamp=9, latest_offset=1
    )


@pytest.mark.parametrize("kind", KINDS)
def test_scanner_has_no_state_between_scans(kind: Kind) -> None:
    strider = kind()
    data = batch(0, PRODUCER) + batch(1, PRODUCER)

    assert strider.stride(data, FOOTING) == strider.stride(data, FOOTING)


@pytest.mark.parametrize("batches", (0, 1, 10**9))
def test_no_scanner_is_created_for_any_number_of_batches(batches: int) -> None:
    assert no_tail_scanner(batches) is None  # type: ignore[func-returns-value]  # it is a `Striders`


def test_pacing_allows_a_scan_immediately_after_a_long_scan() -> None:
    pace = ScanPacing()
    pace.went(SHORT_STRIDE - 1)
    pace.went(SHORT_STRIDE)

    assert pace.is_due()


def test_pacing_waits_longer_after_each_short_scan() -> None:
    pace, waits = ScanPacing(), []
    for _ in range(10):
        pace.went(SHORT_STRIDE - 1)
        waits.append(next(number for number in range(1000) if pace.is_due()))

    assert waits == [1, 3, 7, 15, 31, 63, 127, 255, 255, 255]

"""Columns over damaged bytes: the kernels and the plain decoder agree on every row and error."""

from collections.abc import Callable

import pytest

from cordwood.core.binary import INT64_MIN
from cordwood.core.errors import BadRecordsError, CordwoodError
from cordwood.records.columns import read_columns
from cordwood.records.decoder import (
    COLUMNS,
    AbortedTransaction,
    Chunking,
    Decoder,
    ReadRequest,
    Selection,
)
from cordwood.records.kernels import KernelDecoder
from cordwood.records.plain_decoder import PlainDecoder
from tests.fuzz import samples
from tests.fuzz.harness import LIMIT, fuzz

Report = Callable[[str], None]
Seen = tuple[list[dict[str, object]], tuple[object, ...]]

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(7200)]

SMALL = Chunking(max_rows=64, max_bytes=1 << 16)
ABORTED = (AbortedTransaction(7, 1000),)
REQUESTS = (
    ReadRequest(limit=LIMIT, chunking=SMALL),
    ReadRequest(limit=LIMIT, chunking=SMALL, is_view=True),
    ReadRequest(limit=LIMIT, chunking=SMALL, selection=Selection(aborted=ABORTED)),
    ReadRequest(
        limit=LIMIT, chunking=SMALL, selection=Selection(min_timestamp=950, first_offset=1)
    ),
    ReadRequest(limit=LIMIT, chunking=Chunking(max_rows=1, max_bytes=1), columns=COLUMNS[::-1]),
    ReadRequest(limit=LIMIT, chunking=SMALL, selection=Selection(first_offset=INT64_MIN)),
    ReadRequest(
        limit=LIMIT, chunking=SMALL, selection=Selection(first_offset=1002, aborted=ABORTED)
    ),
    ReadRequest(limit=LIMIT, chunking=SMALL, is_whole=True),
    ReadRequest(limit=LIMIT, chunking=SMALL, selection=Selection(last_offset=1003)),
)


def all_samples() -> list[bytes]:
    """Return single batches, and a stream of some."""
    single = [*samples.v2_batches(), *samples.legacy_batches(), *samples.control_batches()]
    return [*single, *samples.streams()]


def seen_by(decoder: Decoder, data: bytearray) -> tuple[Seen, CordwoodError | None]:
    """Return the rows of a buffer, and the fault that ended them."""
    rows: list[dict[str, object]] = []
    request = REQUESTS[len(data) % len(REQUESTS)]
    try:
        for batch in read_columns(data, decoder, request=request):
            # Python's own dates end with the year 9999, a damaged timestamp does not.
            timestamps = batch["timestamp"].cast("int64")
            rows += batch.set_column(
                request.columns.index("timestamp"), "timestamp", timestamps
            ).to_pylist()
    except BadRecordsError as error:
        return (rows, (type(error), error.position, error.base_offset)), error
    except CordwoodError as error:
        return (rows, (type(error),)), error
    return (rows, ()), None


def test_kernels_and_plain_decoder_agree_on_any_bytes(report: Report) -> None:
    kernels, plain = KernelDecoder(), PlainDecoder()

    def read_twice(data: bytearray) -> None:
        fast, _ = seen_by(kernels, data)
        slow, error = seen_by(plain, data)
        assert fast == slow
        if error is not None:
            raise error

    outcome = fuzz(read_twice, all_samples())

    report(f"columns: {outcome}")
    assert outcome.accepted > 0
    assert len(outcome.refused) >= 6

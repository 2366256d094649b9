"""The fuzz harness finds the errors that it looks for."""

import pytest

from cordwood.records.record_batch import RecordBatch
from tests.fuzz import samples
from tests.fuzz.harness import ALLOWED_GROWTH, BrokenPromiseError, fuzz


def test_fuzz_reports_a_reader_that_raises_a_foreign_error() -> None:
    def careless(data: bytearray) -> int:
        return data[60] + data[61]

    with pytest.raises(BrokenPromiseError, match="IndexError"):
        fuzz(careless, samples.v2_batches(), cases=200)


def test_fuzz_reports_a_reader_that_allocates_the_size_of_a_length_field() -> None:
    def trusting(data: bytearray) -> bytes:
        return bytes(ALLOWED_GROWTH + len(data))

    with pytest.raises(BrokenPromiseError, match="bytes for"):
        fuzz(trusting, samples.v2_batches(), cases=1)


def test_fuzz_reports_a_reader_that_does_not_return(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.fuzz.harness.SECONDS_A_CASE", 0.05)

    def stuck(data: bytearray) -> None:
        while data is not None:
            pass

    with pytest.raises(BrokenPromiseError, match="TimeoutError"):
        fuzz(stuck, samples.v2_batches(), cases=1)


def test_fuzz_counts_accepted_inputs_and_reasons_of_rejection() -> None:
    outcome = fuzz(lambda data: RecordBatch(data).ensure_valid(), samples.v2_batches(), cases=500)

    assert outcome.accepted > 0
    assert outcome.refused.total() + outcome.accepted == 500
    assert "refused" in str(outcome)

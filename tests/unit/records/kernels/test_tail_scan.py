"""The kernels' own part of tail scans: slots that producers share, and tables that fill up.

`tests/unit/records/test_tail_scan.py` covers the part in common with the plain scanner.
"""

import pytest

from cordwood.records.kernels import tail_scan
from cordwood.records.kernels.tail_scan import SLOTS, KernelTailScanner
from cordwood.records.tail_scan import TailScan
from tests.unit.records.stride_samples import FOOTING, PRODUCER, SIZE, batch


def strides(*batches: bytes) -> TailScan:
    return KernelTailScanner().stride(b"".join(batches), FOOTING)


def test_scan_reports_producers_that_share_a_slot() -> None:
    other = PRODUCER._replace(producer_id=7 + SLOTS)
    owners = (PRODUCER,) * 8 + (other,) * 2 + (PRODUCER,)

    found = strides(*(batch(at, owner) for at, owner in enumerate(owners)))

    assert found.heard == [at * SIZE for at in (0, 3, 4, 5, 6, 7, 8, 9, 10)]


def test_scan_ends_when_the_table_of_reported_batches_is_full(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tail_scan, "MOST_TOLD", 10)
    producers = (PRODUCER._replace(producer_id=number) for number in range(20))

    found = strides(*(batch(at, producer) for at, producer in enumerate(producers)))

    assert found.heard == [at * SIZE for at in range(found.batches)]
    assert 0 < found.batches < 10

"""What the kernels' strides have of their own: slots that producers share, and tables that fill up.

What they have in common with plain ones is in `tests/unit/records/test_stride.py`.
"""

import pytest

from cordwood.records.kernels import stride
from cordwood.records.kernels.stride import SLOTS, KernelStrider
from cordwood.records.stride import Stride
from tests.unit.records.stride_samples import FOOTING, PRODUCER, SIZE, batch


def strides(*batches: bytes) -> Stride:
    return KernelStrider().stride(b"".join(batches), FOOTING)


def test_stride_hears_of_producers_that_share_a_slot() -> None:
    other = PRODUCER._replace(producer_id=7 + SLOTS)
    owners = (PRODUCER,) * 8 + (other,) * 2 + (PRODUCER,)

    found = strides(*(batch(at, owner) for at, owner in enumerate(owners)))

    assert found.heard == [at * SIZE for at in (0, 3, 4, 5, 6, 7, 8, 9, 10)]


def test_stride_ends_where_too_much_is_to_be_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stride, "MOST_TOLD", 10)
    producers = (PRODUCER._replace(producer_id=number) for number in range(20))

    found = strides(*(batch(at, producer) for at, producer in enumerate(producers)))

    assert found.heard == [at * SIZE for at in range(found.batches)]
    assert 0 < found.batches < 10

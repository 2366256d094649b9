"""Who has no strider looks at every batch."""

import pytest

from cordwood.records.stride import no_strider


@pytest.mark.parametrize("batches", (0, 1, 10**9))
def test_no_strider_pays_for_any_number_of_batches(batches: int) -> None:
    assert no_strider(batches) is None  # type: ignore[func-returns-value]  # it is a `Striders`

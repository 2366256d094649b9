"""A log as a DataFrame of pandas, which the extra `spark` installs."""

import pytest

from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.partition_view import open_partition
from tests.unit.storage.log_samples import DIRECTORY, filled
from tests.unit.storage.reader_samples import logged

pytestmark = pytest.mark.spark


def test_log_is_a_frame_of_pandas() -> None:
    pytest.importorskip("pandas")
    place, log = logged()
    filled(log, 7)

    frame = open_partition(place.files, DIRECTORY, clock=VirtualClock()).to_pandas(
        ["offset", "key"], start=2
    )

    assert frame["offset"].tolist() == [2, 3, 4, 5, 6]
    assert set(frame["key"]) == {b"key"}

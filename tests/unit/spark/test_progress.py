"""Who is told of a job's progress need not be there."""

import pytest

from cordwood.spark.progress import UNSEEN


def test_progress_may_be_seen_by_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    UNSEEN.begin("verify", 10)
    UNSEEN.advance(10)

    assert capfd.readouterr() == ("", "")

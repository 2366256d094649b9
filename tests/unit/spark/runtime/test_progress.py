"""The progress receiver that ignores progress."""

import pytest

from cordwood.spark.runtime.progress import UNSEEN


def test_progress_can_be_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    UNSEEN.begin("verify", 10)
    UNSEEN.advance(10)

    assert capfd.readouterr() == ("", "")

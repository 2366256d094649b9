"""The progress receiver that ignores progress."""

import pytest

from cordwood.spark.runtime.progress import NO_PROGRESS


def test_progress_can_be_ignored(capfd: pytest.CaptureFixture[str]) -> None:
    NO_PROGRESS.begin("verify", 10)
    NO_PROGRESS.advance(10)

    assert capfd.readouterr() == ("", "")

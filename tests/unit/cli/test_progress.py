"""Progress is shown where words go to a terminal and data does not."""

import pytest

from cordwood.cli.progress import progress


def test_progress_is_not_shown_where_there_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with progress(100) as tell:
        tell(50)

    assert capsys.readouterr() == ("", "")


def test_progress_is_shown_on_the_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with progress(100, is_shown=True) as tell:
        tell(50)

    shown = capsys.readouterr()
    assert shown.out == ""
    assert "reading" in shown.err

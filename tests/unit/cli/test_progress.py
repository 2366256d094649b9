"""Progress is shown where words go to a terminal."""

import io
import sys

import pytest

from cordwood.cli.progress import Bar, progress


class Terminal(io.StringIO):
    """What somebody looks at."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    *,
    total: int | None = 100,
    **asked: bool,
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with progress(total, **asked) as tell:
        tell(50)
    return stream.getvalue()


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading" in shown(monkeypatch, Terminal())


def test_progress_is_not_shown_where_there_is_no_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""


def test_progress_is_not_shown_among_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), is_shown=False) == ""


def test_bar_goes_by_what_is_expected_by_now() -> None:
    shown = list[tuple[int, int | None]]()
    bar = Bar(None, lambda *seen: shown.append(seen))

    bar(10)
    for more in (100, -20):
        bar.expect(more)
        bar(30)

    assert shown == [(10, None), (40, 100), (70, 80)]


def test_progress_is_shown_without_a_total(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading" in shown(monkeypatch, Terminal(), total=None)

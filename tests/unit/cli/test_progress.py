"""Progress is shown if the standard error is a terminal."""

import io
import sys

import pytest

from cordwood.cli.progress import ByteProgress, show_progress


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        return True


def shown(
    monkeypatch: pytest.MonkeyPatch,
    stream: io.StringIO,
    *,
    total: int | None = 100,
    is_shown: bool = True,
    label: str = "reading",
) -> str:
    monkeypatch.setattr(sys, "stderr", stream)
    with show_progress(total, is_shown=is_shown, label=label) as advance:
        advance(50)
    return stream.getvalue()


def test_progress_is_shown_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading" in shown(monkeypatch, Terminal())


def test_progress_is_not_shown_without_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, io.StringIO()) == ""


def test_progress_is_not_shown_if_lines_are_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    assert shown(monkeypatch, Terminal(), is_shown=False) == ""


def test_expected_total_may_change() -> None:
    shown = list[tuple[int, int | None]]()
    bar = ByteProgress(None, lambda *seen: shown.append(seen))

    bar(10)
    for more in (100, -20):
        bar.expect(more)
        bar(30)

    assert shown == [(10, None), (40, 100), (70, 80)]


def test_progress_is_shown_without_a_total(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "reading" in shown(monkeypatch, Terminal(), total=None)


def test_progress_has_the_name_of_the_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "sending" in shown(monkeypatch, Terminal(), label="sending")

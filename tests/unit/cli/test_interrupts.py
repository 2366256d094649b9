"""Ctrl-C asks once, and insists the second time."""

import signal

import pytest
import typer

from cordwood.cli.interrupts import interruptible


def interrupt(times: int) -> list[bool]:
    """Press Ctrl-C so often, and return when it was known."""
    with interruptible() as is_over:
        known = [is_over()]
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
            known.append(is_over())
    return known


def test_ctrl_c_is_a_request() -> None:
    with interruptible() as is_over:
        assert not is_over()


def test_ctrl_c_changes_how_it_ends() -> None:
    with pytest.raises(typer.Exit) as left:
        interrupt(1)

    assert left.value.exit_code == 130


def test_second_ctrl_c_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt):
        interrupt(2)


def test_what_was_not_interrupted_ends_as_ever() -> None:
    before = signal.getsignal(signal.SIGINT)

    assert interrupt(0) == [False]
    assert signal.getsignal(signal.SIGINT) is before

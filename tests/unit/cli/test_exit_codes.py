"""Exit codes after an error, and after Ctrl-C."""

import signal

import pytest
import typer

from cordwood.cli.exit_codes import FOUND_WRONG, UNREACHABLE, USAGE, exit_with_code, interruptible
from cordwood.core.errors import (
    BrokerNotAvailableError,
    CorruptMessageError,
    KernelLibraryError,
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    SchemaRegistryError,
    SettingError,
    SparkError,
)


@pytest.mark.parametrize(
    ("error", "code", "message"),
    (
        (SettingError("no", key="k", remedy="yes"), USAGE, "no; yes"),
        (CorruptMessageError("torn", position=3), FOUND_WRONG, "torn (position 3)"),
        (
            FileNotFoundError(2, "No such file", "/x"),
            UNREACHABLE,
            "No such file: /x; check the path",
        ),
        (
            PermissionError(13, "No", "/x"),
            UNREACHABLE,
            "No: /x; run the command as a user with the required permission",
        ),
        (ListenError("taken", key="listeners", remedy="choose"), UNREACHABLE, "taken; choose"),
        (LogDirectoryError("no", path="/x", remedy="yes"), UNREACHABLE, "/x: no; yes"),
        (KernelLibraryError("cut", path="/x", remedy="copy"), UNREACHABLE, "/x: cut; copy"),
        (NetworkError("no broker"), UNREACHABLE, "no broker"),
        (RequestTimedOutError("no answer"), UNREACHABLE, "no answer"),
        (BrokerNotAvailableError("no broker 7"), UNREACHABLE, "no broker 7"),
        (SparkError("no Spark", remedy="get it"), UNREACHABLE, "no Spark; get it"),
        (SchemaRegistryError("no registry"), UNREACHABLE, "no registry"),
        (OSError("odd"), UNREACHABLE, "odd; check the path"),
        (
            OSError(28, "No space", "/x"),
            UNREACHABLE,
            "No space: /x; free some space, or choose another disk",
        ),
        (
            OSError(5, "Bad disk", "/x"),
            UNREACHABLE,
            "Bad disk: /x; the disk cannot read or write it: check the system log",
        ),
    ),
)
def test_error_is_printed_as_one_line_and_sets_the_exit_code(
    error: Exception, code: int, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as exited, exit_with_code():
        raise error

    assert exited.value.code == code
    assert capsys.readouterr().err == f"cordwood: {message}\n"


def test_command_without_an_error_continues() -> None:
    with exit_with_code():
        pass


def press_ctrl_c(times: int, states: list[bool]) -> None:
    """Press Ctrl-C; append the predicate before the first and after each press."""
    with interruptible() as is_stopped:
        states.append(is_stopped())
        for _ in range(times):
            signal.raise_signal(signal.SIGINT)
            states.append(is_stopped())


def test_predicate_is_true_after_ctrl_c() -> None:
    states = list[bool]()

    with pytest.raises(typer.Exit):
        press_ctrl_c(1, states)

    assert states == [False, True]


def test_ctrl_c_changes_the_exit_code() -> None:
    with pytest.raises(typer.Exit) as exited:
        press_ctrl_c(1, [])

    assert exited.value.exit_code == 130


def test_second_ctrl_c_interrupts() -> None:
    with pytest.raises(KeyboardInterrupt):
        press_ctrl_c(2, [])


def test_signal_handler_is_restored() -> None:
    before = signal.getsignal(signal.SIGINT)

    press_ctrl_c(0, [])

    assert signal.getsignal(signal.SIGINT) is before

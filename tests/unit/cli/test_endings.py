"""Errors become a sentence and an exit code."""

import pytest

from cordwood.cli.endings import FOUND_WRONG, UNREACHABLE, USAGE, ending
from cordwood.core.errors import (
    BrokerNotAvailableError,
    CorruptMessageError,
    ListenError,
    LogDirectoryError,
    NetworkError,
    RequestTimedOutError,
    SettingError,
    SparkError,
)


@pytest.mark.parametrize(
    ("error", "code", "words"),
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
            "No: /x; run this as somebody who has the right to it",
        ),
        (ListenError("taken", key="listeners", remedy="choose"), UNREACHABLE, "taken; choose"),
        (LogDirectoryError("no", path="/x", remedy="yes"), UNREACHABLE, "/x: no; yes"),
        (NetworkError("no broker"), UNREACHABLE, "no broker"),
        (RequestTimedOutError("no answer"), UNREACHABLE, "no answer"),
        (BrokerNotAvailableError("no broker 7"), UNREACHABLE, "no broker 7"),
        (SparkError("no Spark", remedy="get it"), UNREACHABLE, "no Spark; get it"),
        (OSError("odd"), UNREACHABLE, "odd; check the path"),
        (
            OSError(28, "No space", "/x"),
            UNREACHABLE,
            "No space: /x; make room, or choose another place",
        ),
        (
            OSError(5, "Bad disk", "/x"),
            UNREACHABLE,
            "Bad disk: /x; the disk cannot read or write it: look into the system's log",
        ),
    ),
)
def test_error_ends_a_command_with_words_and_a_code(
    error: Exception, code: int, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left, ending():
        raise error

    assert left.value.code == code
    assert capsys.readouterr().err == f"cordwood: {words}\n"


def test_command_without_an_error_goes_on() -> None:
    with ending():
        pass

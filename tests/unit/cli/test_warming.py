"""Kernels are compiled for those who have enough to do."""

from collections.abc import Callable

import pytest

from cordwood.cli.warming import WORTH_BYTES, warm_for
from cordwood.core.errors import KafkaStorageError
from cordwood.records import kernels

Say = Callable[[str], object]


def test_little_to_read_is_read_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def warm(_: Say) -> None:
        raise AssertionError("nobody should wait")

    monkeypatch.setattr(kernels, "warm", warm)

    warm_for(WORTH_BYTES - 1)


def test_user_hears_of_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "warm", lambda say: say("compiling"))

    warm_for(WORTH_BYTES)

    assert capsys.readouterr().err == "compiling\n"


def test_user_hears_when_nothing_can_be_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def warm(_: Say) -> None:
        raise KafkaStorageError("no compiler")

    monkeypatch.setattr(kernels, "warm", warm)

    warm_for(WORTH_BYTES)

    assert capsys.readouterr().err == "cordwood: no compiler\n"

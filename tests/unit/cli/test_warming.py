"""Kernels are compiled for those who have enough to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cordwood.cli.warming import WORTH_BYTES, log_bytes, warm_for
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


def test_bytes_to_read_are_those_of_logs(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for name, size in (("0.log", 5), ("1.log", 7), ("0.index", 9)):
        (tmp_path / "t-0" / name).write_bytes(bytes(size))

    assert log_bytes([str(tmp_path)]) == log_bytes([str(tmp_path / "t-0")]) == 12
    assert log_bytes([str(tmp_path / "t-0" / "1.log"), str(tmp_path / "nowhere")]) == 7

"""Kernels are compiled for those who have enough to do."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cordwood.cli.warming import log_bytes, warm_for
from cordwood.records import kernels
from cordwood.records.kernels import WORTH_BYTES

Say = Callable[[str], object]


def test_user_hears_of_what_is_compiled(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "warm", lambda say: say("compiling"))

    warm_for(WORTH_BYTES)

    assert capsys.readouterr().err == "compiling\n"


def test_bytes_to_read_are_those_of_logs(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for name, size in (("0.log", 5), ("1.log", 7), ("0.index", 9)):
        (tmp_path / "t-0" / name).write_bytes(bytes(size))

    assert log_bytes([str(tmp_path)]) == log_bytes([str(tmp_path / "t-0")]) == 12
    assert log_bytes([str(tmp_path / "t-0" / "1.log"), str(tmp_path / "nowhere")]) == 7

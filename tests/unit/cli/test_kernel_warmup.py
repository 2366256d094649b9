"""Kernels are compiled for commands that read enough data."""

from collections.abc import Callable
from pathlib import Path

import pytest

from cordwood.cli.kernel_warmup import count_log_bytes, warm_kernels_for
from cordwood.records import kernels
from cordwood.records.kernels import WORTH_BYTES

Say = Callable[[str], object]


def test_compiling_is_announced(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(kernels, "warm", lambda say: say("compiling"))

    warm_kernels_for(WORTH_BYTES)

    assert capsys.readouterr().err == "compiling\n"


def test_only_logs_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for name, size in (("0.log", 5), ("1.log", 7), ("0.index", 9)):
        (tmp_path / "t-0" / name).write_bytes(bytes(size))

    assert count_log_bytes([str(tmp_path)]) == count_log_bytes([str(tmp_path / "t-0")]) == 12
    assert count_log_bytes([str(tmp_path / "t-0" / "1.log"), str(tmp_path / "nowhere")]) == 7

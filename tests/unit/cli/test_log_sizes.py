"""The sizes of logs."""

from pathlib import Path

from cordwood.cli.log_sizes import count_log_bytes


def test_only_logs_are_counted(tmp_path: Path) -> None:
    (tmp_path / "t-0").mkdir()
    for name, size in (("0.log", 5), ("1.log", 7), ("0.index", 9)):
        (tmp_path / "t-0" / name).write_bytes(bytes(size))

    assert count_log_bytes([str(tmp_path)]) == count_log_bytes([str(tmp_path / "t-0")]) == 12
    assert count_log_bytes([str(tmp_path / "t-0" / "1.log"), str(tmp_path / "nowhere")]) == 7

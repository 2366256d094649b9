"""Bad paths: each ends a command with one line and an exit code, without a traceback."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from cordwood import cli
from cordwood.cli.exit_codes import UNREACHABLE, USAGE
from cordwood.core.system import SystemFiles
from tests.unit.workbench.salvage_samples import batch

LOG: Final = "00000000000000000000.log"
VERBS: Final = ("dump", "verify", "stat", "explain", "reindex", "salvage", "adopt")
#: A user id without an account.
UNPRIVILEGED: Final = 54321
OF_PARTITIONS: Final = ("explain", "reindex", "salvage")


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory with one partition."""
    (tmp_path / "logs" / "t-0").mkdir(parents=True)
    (tmp_path / "logs" / "t-0" / LOG).write_bytes(batch(0))
    return tmp_path / "logs"


def arguments(verb: str, path: Path) -> list[str]:
    more = {
        "dump": ["--files", f"{path}/{LOG}"],
        "salvage": [str(path), "--out", f"{path}-out", "--partition", "t-0"],
        "adopt": [str(path), "--to-kafka"],
    }
    return [verb, *more.get(verb, [str(path)])]


def rejected(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], verb: str, path: Path
) -> int:
    """Run a command and return its exit code; it must print one line with path and remedy."""
    monkeypatch.setattr("sys.argv", ["cordwood", "log", *arguments(verb, path)])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("cordwood: ")
    assert str(path) in line
    assert "; " in line
    return int(exited.value.code or 0)


@pytest.mark.parametrize("verb", VERBS)
def test_missing_path_is_unreachable(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    assert rejected(monkeypatch, capfd, verb, tmp_path / "t-0") == UNREACHABLE


@pytest.mark.parametrize("verb", VERBS)
def test_file_is_not_a_directory(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t-0").write_text("text")

    assert rejected(monkeypatch, capfd, verb, tmp_path / "t-0") == UNREACHABLE


@pytest.mark.parametrize("verb", VERBS)
def test_empty_directory_has_no_log(
    verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t-0").mkdir()

    assert rejected(monkeypatch, capfd, verb, tmp_path / "t-0") == UNREACHABLE


@pytest.mark.parametrize("verb", ("verify", "stat", "explain", "reindex", "salvage", "adopt"))
def test_empty_path_is_wrong_usage(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unset shell variable produces one; it must not mean the working directory."""
    more = {"salvage": ["--out", "out"], "adopt": ["--to-kafka"]}.get(verb, [])
    monkeypatch.setattr("sys.argv", ["cordwood", "log", verb, "", *more])

    with pytest.raises(SystemExit) as exited:
        cli.main()

    assert exited.value.code == USAGE


@pytest.mark.parametrize("verb", ("dump", "verify", "stat"))
def test_pipe_is_rejected_without_waiting(
    verb: str, logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    pipe = logs / "t-0" / "00000000000000000001.log"
    os.mkfifo(pipe)
    given = ["--files", str(pipe)] if verb == "dump" else [str(pipe)]
    monkeypatch.setattr("sys.argv", ["cordwood", "log", verb, *given])

    with pytest.raises(SystemExit, match=str(UNREACHABLE)):
        cli.main()

    assert f"{pipe}" in capfd.readouterr().err.splitlines()[-1]


@pytest.mark.parametrize("verb", OF_PARTITIONS)
def test_other_things_than_files_are_skipped(
    verb: str, logs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(logs / "t-0" / "00000000000000000001.log")
    (logs / "t-0" / "00000000000000000002.log").symlink_to("nowhere")
    (logs / "t-0" / "00000000000000000003.log").mkdir()
    monkeypatch.setattr("sys.argv", ["cordwood", "log", *arguments(verb, logs / "t-0")])

    with pytest.raises(SystemExit, match="0"):
        cli.main()


@contextmanager
def without_root() -> Iterator[None]:
    """Give up the rights of root for a while: root may read every directory."""
    user = os.geteuid()
    if user == 0:
        os.seteuid(UNPRIVILEGED)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.parametrize("verb", VERBS)
def test_directory_without_permission_is_unreachable(
    verb: str, logs: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    path = logs if verb == "adopt" else logs / "t-0"
    path.chmod(0)
    # The other user may not read the modules that the command imports late.
    rejected(monkeypatch, capfd, verb, logs / "absent")

    with without_root():
        code = rejected(monkeypatch, capfd, verb, path)
    path.chmod(0o700)

    assert code == UNREACHABLE


@pytest.mark.parametrize(("verb", "place"), (("reindex", "t-0"), ("adopt", "")))
def test_locked_directory_is_not_changed(
    verb: str,
    place: str,
    logs: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    lock = SystemFiles().lock(f"{logs}/.lock")
    try:
        monkeypatch.setattr("sys.argv", ["cordwood", "log", *arguments(verb, logs / place)])
        with pytest.raises(SystemExit) as exited:
            cli.main()
    finally:
        lock.release()

    assert exited.value.code == UNREACHABLE
    assert capfd.readouterr().err.startswith(f"cordwood: {logs}: is in use by a broker; stop it")
    assert [each.name for each in (logs / "t-0").iterdir()] == [LOG]

"""Options of `cordwood serve` become settings; named options contradict `--set`."""

import gc
import subprocess
import sys

import pytest

from cordwood import cli
from cordwood.cli import serve_run
from cordwood.core.errors import SettingError

LIGHT = """
import sys
from cordwood.cli import main
sys.argv = ["cordwood", "serve", "--listen", "nowhere"]
try:
    main()
except SystemExit as exited:
    print(exited.code, [name for name in ("typer", "pydantic") if name in sys.modules])
"""


def test_serve_passes_its_arguments_on(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(serve_run, "serve", lambda *args, **_: calls.extend(args))
    arguments = ["a.properties", "--override", "node.id=3", "--data", "/d", "--listen", "h:1"]
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", *arguments])

    cli.main()

    assert calls == ["a.properties", ["node.id=3", "log.dirs=/d", "listeners=PLAINTEXT://h:1"]]


def test_file_of_settings_is_an_argument_and_no_option(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", "--config=a.properties"])

    with pytest.raises(SystemExit) as exited:
        cli.main()

    assert exited.value.code == 2
    assert "cordwood serve server.properties" in capsys.readouterr().err


def test_broker_starts_without_collections(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[bool] = []
    monkeypatch.setattr(serve_run, "serve", lambda *_, **__: calls.append(gc.isenabled()))
    monkeypatch.setattr("sys.argv", ["cordwood", "serve"])

    cli.main()

    assert calls == [False]


def test_altered_settings_are_left_out_by_an_option(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[object] = []
    monkeypatch.setattr(serve_run, "serve", lambda *args, **_: calls.extend(args))
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", "--without-altered-configs"])

    cli.main()

    assert calls == [None, ["cordwood.without.altered.configs=true"]]


def test_serve_does_not_import_typer() -> None:
    done = subprocess.run(
        (sys.executable, "-c", LIGHT), capture_output=True, text=True, check=True, timeout=30
    )

    assert done.stdout == "2 []\n"


@pytest.mark.parametrize(
    ("arguments", "code", "text"),
    (
        (("--help",), 0, "Example: cordwood serve --data logs"),
        (("--lis", "h:1"), 2, "unrecognized arguments: --lis"),
    ),
)
def test_serve_prints_its_usage(
    arguments: tuple[str, ...],
    code: int,
    text: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr("sys.argv", ["cordwood", "serve", *arguments])

    with pytest.raises(SystemExit) as exited:
        cli.main()

    result = capsys.readouterr()
    assert exited.value.code == code
    assert text in (result.err if code else result.out)


@pytest.mark.parametrize(
    ("settings", "text"),
    (
        (["log.dirs=x"], "--data and --set log.dirs contradict each other; give one of them"),
        (["listeners = x"], "--listen and --set listeners contradict each other"),
    ),
)
def test_option_that_contradicts_a_setting_is_rejected(settings: list[str], text: str) -> None:
    with pytest.raises(SettingError, match=text):
        serve_run.overrides(settings, data="/d", listen="h:1")


@pytest.mark.parametrize(
    ("listen", "listeners"),
    (
        ("19094", "PLAINTEXT://127.0.0.1:19094"),
        ("h:1", "PLAINTEXT://h:1"),
        ("[::1]:0", "PLAINTEXT://[::1]:0"),
    ),
)
def test_listen_is_an_address_or_a_port_of_this_machine(listen: str, listeners: str) -> None:
    assert serve_run.overrides([], data=None, listen=listen) == [f"listeners={listeners}"]


@pytest.mark.parametrize("listen", ("nowhere", ":9092", "99999", "PLAINTEXT://h:1", ""))
def test_wrong_address_is_rejected_in_the_form_of_the_option(listen: str) -> None:
    with pytest.raises(
        SettingError, match=rf"^--listen {listen} is not an address; give HOST:PORT"
    ):
        serve_run.overrides([], data=None, listen=listen)

"""`cordwood spark pipeline` as it is called; `tests/spark` runs pipelines."""

from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="the extra spark is not installed")

from tests.unit.cli.commands import run

pytestmark = pytest.mark.spark

FILE = """
[source]
path = "logs"
subscribe = "orders"
[sink]
format = "kafka"
topic = "out"
"""


@pytest.fixture(name="file")
def fixture_file(tmp_path: Path) -> str:
    """Write a pipeline; return its path."""
    (tmp_path / "orders.toml").write_text(FILE)
    return str(tmp_path / "orders.toml")


def test_explain_shows_the_pipeline(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(("spark", "pipeline", "explain", file), monkeypatch, capfd)

    assert result.code == 0
    assert "write       topics, exactly once: topic=out" in result.out


def test_status_of_a_new_pipeline_is_a_row(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(("spark", "pipeline", "status", file, "--json"), monkeypatch, capfd)

    assert (result.code, result.out) == (0, '{"pipeline": "orders", "state": "new"}\n')


def test_reset_of_a_new_pipeline_says_so(
    file: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(("spark", "pipeline", "reset", file, "--yes"), monkeypatch, capfd)

    assert (result.code, result.out) == (0, "orders: has no checkpoint\n")


def test_unusable_file_is_an_error_without_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    result = run(("spark", "pipeline", "run", str(tmp_path / "gone.toml")), monkeypatch, capfd)

    assert result.code != 0
    assert "No such file" in result.err

"""`cordwood spark verify` as it is called; `tests/spark` runs it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cordwood.cli.spark import verify
from cordwood.spark import jobs
from cordwood.workbench.findings import Verification, damage
from tests.unit.cli.commands import run


@contextmanager
def without_spark(*_said: object, **_given: object) -> Iterator[tuple[None, object]]:
    yield None, jobs.UNSEEN


@pytest.mark.parametrize(("findings", "code"), (((), 0), ((damage("/t-0", "torn"),), 1)))
def test_verify_ends_with_1_where_something_is_wrong(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    findings: tuple[()],
    code: int,
) -> None:
    asked: list[object] = []

    def verified(*paths: object, **given: object) -> Verification:
        asked.extend((paths[1], given["config"]))
        return Verification(findings=findings)

    monkeypatch.setattr(verify, "running", without_spark)
    monkeypatch.setattr(jobs, "verify", verified)
    words = ("spark", "verify", str(tmp_path), "--config", "cleanup.policy=compact", "--json")

    said = run(words, monkeypatch, capfd)

    assert (said.code, json.loads(said.out)["is_damaged"]) == (code, bool(code))
    assert asked == [[str(tmp_path)], {"cleanup.policy": "compact"}]

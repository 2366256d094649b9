"""`cordwood spark verify` as it is called; `tests/spark` runs it."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from cordwood.cli.spark import verify
from cordwood.spark import jobs
from cordwood.workbench.verify.findings import Verification, damage
from tests.unit.cli.commands import run


@contextmanager
def without_spark(*_args: object, **_given: object) -> Iterator[tuple[None, object]]:
    yield None, jobs.NO_PROGRESS


@pytest.mark.parametrize(("findings", "code"), (((), 0), ((damage("/t-0", "torn"),), 1)))
def test_verify_exits_with_1_on_findings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    findings: tuple[()],
    code: int,
) -> None:
    calls: list[object] = []

    def verified(*paths: object, **given: object) -> Verification:
        calls.extend((paths[1], given["config"]))
        return Verification(findings=findings)

    monkeypatch.setattr(verify, "job_session", without_spark)
    monkeypatch.setattr(jobs, "verify", verified)
    arguments = ("spark", "verify", str(tmp_path), "--config", "cleanup.policy=compact", "--json")

    result = run(arguments, monkeypatch, capfd)

    assert (result.code, json.loads(result.out)["is_damaged"]) == (code, bool(code))
    assert calls == [[str(tmp_path)], {"cleanup.policy": "compact"}]

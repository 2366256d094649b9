"""`cordwood spark audit` as it is called; `tests/spark` runs it."""

from pathlib import Path

import pytest

from cordwood.cli.spark import audit
from cordwood.spark import jobs
from tests.unit.cli.commands import run
from tests.unit.cli.spark.test_verify import without_spark


class _Audit:
    def __init__(self, *, is_whole: bool) -> None:
        self.is_whole = is_whole

    def __str__(self) -> str:
        return "a line a partition"


@pytest.mark.parametrize(("is_whole", "code"), ((True, 0), (False, 1)))
def test_audit_exits_with_1_on_findings(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    *,
    is_whole: bool,
    code: int,
) -> None:
    calls: list[object] = []

    def audited(_spark: object, options: object, **_given: object) -> _Audit:
        calls.append(options)
        return _Audit(is_whole=is_whole)

    monkeypatch.setattr(audit, "job_session", without_spark)
    monkeypatch.setattr(audit, "check_source", lambda _options: None)
    monkeypatch.setattr(jobs, "audit", audited)
    lake = str(tmp_path / "lake")
    arguments = ("--of", lake, "--table", "a.b", "--format", "iceberg", "--bootstrap-server", "x:1")
    selected = ("--topic", "orders")

    result = run(("spark", "audit", *arguments, *selected), monkeypatch, capfd)

    assert (result.code, result.out) == (code, "a line a partition\n")
    source = {"kafka.bootstrap.servers": "x:1", "subscribe": "orders"}
    assert calls == [{**source, "of": lake, "format": "iceberg", "table": "a.b"}]

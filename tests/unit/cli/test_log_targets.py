"""The partitions that a path names, and the reports on several of them."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer

from cordwood.cli.log_targets import PartitionReports, partitions_at
from cordwood.core.errors import CorruptMessageError, LogDirectoryError
from cordwood.core.system import SystemFiles
from cordwood.workbench.verify.findings import Verdict


@dataclass
class Report:
    """A report with a verdict."""

    path: str
    verdict: Verdict | None = Verdict.WHOLE

    def to_json(self) -> str:
        return json.dumps(self.path)


def reports(*, as_json: bool = False) -> PartitionReports[Report]:
    return PartitionReports(lambda each: each.path, as_json=as_json)


def test_partitions_of_a_log_directory_are_all_of_it(tmp_path: Path) -> None:
    for name in ("t-0", "t-1"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{0:020}.log").touch()
    files = SystemFiles()

    assert partitions_at(files, str(tmp_path)) == [f"{tmp_path}/t-0", f"{tmp_path}/t-1"]
    assert partitions_at(files, f"{tmp_path}/t-0") == [f"{tmp_path}/t-0"]
    assert partitions_at(files, f"{tmp_path}/missing") == [f"{tmp_path}/missing"]


def test_failure_of_one_partition_does_not_stop_the_others(
    capfd: pytest.CaptureFixture[str],
) -> None:
    found = reports()

    def work(path: str) -> Report:
        if path == "/b":
            raise LogDirectoryError("is bad", path=path, remedy="go away")
        return Report(path)

    found.run(["/a", "/b", "/c"], work, is_single=False)

    assert tuple(capfd.readouterr()) == ("/a\n/c\n", "cordwood: /b: is bad; go away\n")
    with pytest.raises(typer.Exit) as exited:
        found.finish()
    assert exited.value.exit_code == 3


def test_failure_of_a_single_partition_is_raised() -> None:
    def work(path: str) -> Report:
        raise CorruptMessageError(path)

    with pytest.raises(CorruptMessageError):
        reports().run(["/a"], work, is_single=True)


@pytest.mark.parametrize(
    ("verdict", "code"),
    (
        (None, 0),
        (Verdict.WHOLE, 0),
        (Verdict.REPAIRABLE, 0),
        (Verdict.UNVERIFIED, 1),
        (Verdict.LOST, 1),
    ),
)
def test_verdict_decides_the_exit_code(verdict: Verdict | None, code: int) -> None:
    found = reports()
    found.run(["/a"], lambda path: Report(path, verdict), is_single=True)

    if not code:
        found.finish()
        return
    with pytest.raises(typer.Exit) as exited:
        found.finish()
    assert exited.value.exit_code == code


@pytest.mark.parametrize(("is_single", "text"), ((True, '"/a"'), (False, '{"partitions": ["/a"]}')))
def test_json_of_several_partitions_is_one_object(
    capfd: pytest.CaptureFixture[str], *, is_single: bool, text: str
) -> None:
    found = reports(as_json=True)

    found.run(["/a"], Report, is_single=is_single)
    found.finish()

    assert capfd.readouterr().out == f"{text}\n"

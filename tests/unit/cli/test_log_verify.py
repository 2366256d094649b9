"""`cordwood log verify` as it is called."""

import json
from pathlib import Path

import pytest

from cordwood import cli
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from tests.unit.storage.log_samples import DIRECTORY, batch
from tests.unit.storage.segment_samples import v2
from tests.unit.workbench.compact_samples import CompactedPartition, order

LOG = f"{0:020}.log"


@pytest.fixture
def partition(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("cordwood.records.kernels.batch_checker", KernelBatchChecker)
    folder = tmp_path / "t-0"
    folder.mkdir()
    (folder / LOG).write_bytes(v2(0, 3) + v2(4))
    return folder


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", *arguments])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_verify_of_a_good_partition_ends_well(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", "t-0", str(partition / LOG)) == 0

    assert [line.partition(":")[0] for line in capsys.readouterr().out.splitlines()] == ["good"] * 2


def test_verify_exits_with_1_on_damage(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / LOG).write_bytes(v2(0, 3)[:-1] + b"\xee" + v2(4))

    assert run(monkeypatch, "verify", ".", "--json") == 1

    found = json.loads(capsys.readouterr().out)
    assert found["partitions"][0]["findings"][0]["cause"] == "the checksum is wrong"


@pytest.mark.parametrize(("policy", "code"), (("delete", 1), ("compact", 0), ("keep", 2)))
def test_verify_checks_missing_offsets_by_the_given_policy(
    partition: Path, monkeypatch: pytest.MonkeyPatch, *, policy: str, code: int
) -> None:
    (partition / LOG).write_bytes(bytes(batch(1)) + bytes(batch(1, at=5)))

    assert run(monkeypatch, "verify", "t-0") == 1
    assert run(monkeypatch, "verify", "t-0", "--config", f"cleanup.policy={policy}") == code


def test_verify_without_partitions_is_an_error(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, "verify", "missing") == 3
    assert run(monkeypatch, "verify", "--json") == 2

    assert "missing" in capsys.readouterr().err


def test_verify_of_a_repairable_partition_names_the_command(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition / f"{0:020}.index").write_bytes(b"\x01\x02\x03")

    assert run(monkeypatch, "verify", "t-0") == 1

    last = capsys.readouterr().out.splitlines()[-1]
    command = f"cordwood log reindex {partition}"
    assert last == f"verdict: {partition}: repairable; stop the broker and run: {command}"
    assert run(monkeypatch, "reindex", "t-0") == 0
    assert run(monkeypatch, "verify", "t-0") == 0


def test_verify_skips_foreign_directories_with_a_note(
    partition: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (partition.parent / "lost+found").mkdir()

    assert run(monkeypatch, "verify", ".") == 0

    assert "do not belong to a partition: lost+found" in capsys.readouterr().out


def test_certificate_is_compared_with_its_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    partition = CompactedPartition("a1", "a2", "b1")
    report = partition.compact(order())
    assert report.certificate is not None
    (tmp_path / "certificates").write_text(report.certificate.to_json())
    (tmp_path / "t-0").mkdir()
    for each in partition.place.files.list(DIRECTORY):
        (tmp_path / "t-0" / each).write_bytes(partition.place.bytes_of(each))

    policy = ("--config", "cleanup.policy=compact")
    code = run(monkeypatch, "verify", "t-0", "--certificate", "certificates", "--json", *policy)
    found = json.loads(capsys.readouterr().out)["certificates"]

    assert (code, found[0]["is_wrong"], found[0]["records"]) == (0, False, 1)
    (tmp_path / "u-0").mkdir()
    (tmp_path / "u-0" / LOG).write_bytes(v2(0))
    assert run(monkeypatch, "verify", "u-0", "--certificate", "certificates") == 1
    assert "its partition is not at the given paths" in capsys.readouterr().out

"""`cordwood log salvage` as it is called."""

import json
from pathlib import Path

import pytest

import cordwood
from cordwood import cli
from cordwood.records.batch_builder import BatchBuilder, BatchFields
from tests.unit.workbench.salvage_samples import batch, harmed


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "logs" / "t-0"
    path.mkdir(parents=True)
    (path / "00000000000000000000.log").write_bytes(batch(0) + batch(4))
    return path


def run(monkeypatch: pytest.MonkeyPatch, *arguments: object) -> int:
    monkeypatch.setattr("sys.argv", ["cordwood", "log", "salvage", *map(str, arguments)])
    with pytest.raises(SystemExit) as exited:
        cli.main()
    code = exited.value.code
    return code if isinstance(code, int) else 0


def test_salvage_of_a_whole_log_ends_with_0(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = source.parent.parent / "out"

    assert run(monkeypatch, source, "--out", out) == 0

    assert capsys.readouterr().out == f"{out}/t-0: offsets 0 to 7, 2 batches, 234 bytes\n"


def test_salvage_into_the_source_by_a_link_is_rejected(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    link = source.parent.parent / "link"
    link.symlink_to(source)

    assert run(monkeypatch, source, "--out", link / "out") == 3

    assert "is inside the source" in capsys.readouterr().err
    assert [each.name for each in source.iterdir()] == ["00000000000000000000.log"]


def test_salvage_lists_lost_offsets_and_ends_with_1(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = source / "00000000000000000000.log"
    path.write_bytes(batch(0) + harmed(batch(4), 61, 62) + b"\1" * 80)
    checkpoint = source.parent / "replication-offset-checkpoint"
    checkpoint.write_text("0\n1\nt 0 9\n")

    assert run(monkeypatch, source, "--out", source.parent.parent / "out") == 1

    lines = capsys.readouterr().out.splitlines()
    assert lines[1:] == [
        f"lost: offset 4: unreadable records ({path}, position 117)",
        f"lost: offset 8: {lines[2].split(': ', 2)[2]}",
        (
            "unverified: offsets 5 to 7: read one by one from a damaged batch "
            f"({path}, position 117)"
        ),
        f"verdict: {source}: records lost",
    ]


def test_batches_in_a_damaged_value_replace_no_batch_behind_it(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = BatchBuilder(BatchFields(base_offset=4))
    for base in (1000, 1002, 1004):
        backup.append(b"k", batch(base, 2), timestamp=1000)
    path = source / "00000000000000000000.log"
    path.write_bytes(batch(0) + harmed(bytes(backup.build()), 8, 16, 17) + batch(7, 2))
    (source / "00000000000000000009.log").write_bytes(batch(9, 1))

    assert run(monkeypatch, source, "--out", source.parent.parent / "out") == 1

    first, *lines = capsys.readouterr().out.splitlines()
    assert "t-0: offsets 0 to 9, 3 batches" in first
    found = [line for line in lines if not line.startswith("note: ")]
    assert len(found) == 2
    assert found[0].startswith("lost: offsets 4 to 6: ")


def test_salvage_over_a_gap_names_it_and_ends_with_1(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / "00000000000000000012.log").write_bytes(batch(12))

    out, policy = source.parent.parent / "out", "cleanup.policy=delete"
    assert run(monkeypatch, source, "--out", out, "--config", policy) == 1

    assert capsys.readouterr().out.splitlines()[1:] == [
        "lost: offsets 8 to 11: in no file",
        f"verdict: {source}: records lost",
    ]


@pytest.mark.parametrize(
    ("policy", "label", "code"), (("compact", "gap", 0), (None, "unverified", 1))
)
def test_salvage_over_a_gap_follows_the_cleanup_policy(
    source: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    policy: str | None,
    label: str,
    code: int,
) -> None:
    (source / "00000000000000000012.log").write_bytes(batch(12))
    give = () if policy is None else ("--config", f"cleanup.policy={policy}")

    assert run(monkeypatch, source, "--out", source.parent.parent / "out", *give) == code

    assert capsys.readouterr().out.splitlines()[1].startswith(f"{label}: offsets 8 to 11: ")


def test_salvage_of_a_log_directory_is_that_of_its_partitions(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("u-0", "lost+found"):
        (source.parent / name).mkdir()
    (source.parent / "u-0" / "00000000000000000000.log").touch()
    (source.parent / "v-0").mkdir()
    (source.parent / "v-0" / "00000000000000000000.log").write_bytes(b"\1" * 80)
    out = source.parent.parent / "out"

    assert run(monkeypatch, source.parent, "--out", out) == 3

    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        f"{out}/t-0: offsets 0 to 7, 2 batches, 234 bytes",
        f"{out}/u-0: no records, begins at offset 0",
    ]
    assert printed.err.splitlines() == [
        f"note: {source.parent}: skipped, not a partition: lost+found",
        (
            f"cordwood: {source.parent}/v-0: contains no readable batch; restore it from a backup "
            "or a replica"
        ),
    ]


def test_topic_keeps_its_partitions_although_the_last_one_has_no_records(
    source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (source.parent / "t-1").mkdir()
    (source.parent / "t-1" / "00000000000000000000.log").touch()
    out = source.parent.parent / "out"

    assert run(monkeypatch, source.parent, "--out", out) == 0

    with (
        cordwood.Broker(out, listen="127.0.0.1:0") as broker,
        cordwood.Admin(broker.address) as admin,
    ):
        assert len(admin.describe_topics(["t"])[0].partitions) == 2


def test_salvage_takes_a_name_for_one_partition_only(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    give = (source, source, "--out", source.parent.parent / "out", "--partition", "u-0")

    assert run(monkeypatch, *give) == 2

    assert "--partition names one partition (2 are given)" in capsys.readouterr().err


def test_salvage_prints_json_and_accepts_a_partition_name(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = source.rename(source.parent / "broken")
    out = source.parent.parent / "out"

    assert run(monkeypatch, moved, "--out", out, "--partition", "u-3", "--json") == 0

    assert json.loads(capsys.readouterr().out)["path"] == f"{out}/u-3"


def test_missing_source_is_rejected(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, source.parent / "nothing-0", "--out", source.parent / "out") == 3

    assert "give the directory of a partition" in capsys.readouterr().err


def test_loss_without_a_known_end_is_open(
    source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (source / "00000000000000000000.log").write_bytes(batch(0) + b"\1" * 80)

    assert run(monkeypatch, source, "--out", source.parent.parent / "out") == 1

    assert capsys.readouterr().out.splitlines()[1].startswith("unverified: offsets from 4 on: ")


@pytest.mark.parametrize("name", ("x", "x-99999999999", "x-01", "ü-0"))
def test_salvage_rejects_an_invalid_partition_name(
    name: str, source: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(monkeypatch, source, "--out", source.parent / "out", "--partition", name) == 2

    assert f"{name!r} is not TOPIC-N" in capsys.readouterr().err

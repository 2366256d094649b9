"""`cordwood compact`: its options reach the work, or are rejected."""

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.commands import CommandResult, run
from tests.unit.compaction.compaction_samples import batch

Compact = Callable[..., CommandResult]

IMPORTED = """
import sys
from cordwood.cli import main
sys.argv = ["cordwood", "compact", {path!r}, "--config", "cleanup.policy=compact"]
try:
    main()
except SystemExit:
    print("pyarrow" in sys.modules)
"""


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """A log directory of one partition, of three segments."""
    path = tmp_path / "logs" / "t-0"
    path.mkdir(parents=True)
    for base, text in ((0, "a1 b1"), (2, "a2"), (3, "c1")):
        (path / f"{base:020}.log").write_bytes(batch(base, text))
    return path.parent


@pytest.fixture
def compact(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Compact:
    """Run `cordwood compact` with the policy compact."""

    def give(*arguments: object) -> CommandResult:
        settings = ("--config", "cleanup.policy=compact")
        return run(("compact", *map(str, arguments), *settings), monkeypatch, capfd)

    return give


def test_dry_run_prints_the_plan_and_writes_no_file(compact: Compact, logs: Path) -> None:
    result = compact(logs / "t-0", "--dry-run")

    assert result.out.splitlines() == [
        f"{logs}/t-0: offsets 0 to 3, clean up to 0, dirty ratio 1.00",
        "segments 0, 2: rewritten into one",
        "segment 3: 70 bytes kept: the active segment is never cleaned",
    ]
    assert len(list((logs / "t-0").glob("*.log"))) == 3


def test_plan_of_one_segment_names_one(compact: Compact, logs: Path) -> None:
    result = compact(logs / "t-0", "--dry-run", "--until", "2")

    assert "segment 0: rewritten" in result.out.splitlines()


def test_partition_is_compacted_and_reported(compact: Compact, logs: Path) -> None:
    result = compact(logs / "t-0", "--seed", 7)

    assert result.code == 0
    assert result.out.splitlines()[-1] == (
        "compacted up to 3: kept 2 of 3 records and 140 of 149 bytes; "
        "verified: a sample of the keys, seed 7"
    )
    assert sorted(path.name for path in (logs / "t-0").glob("*.log")) == [
        f"{base:020}.log" for base in (0, 3)
    ]


def test_compaction_does_not_load_arrow(logs: Path) -> None:
    code = IMPORTED.format(path=str(logs / "t-0"))

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    *_, result, is_arrow_loaded = done.stdout.splitlines()
    assert result.startswith("compacted up to 3")
    assert is_arrow_loaded == "False"


def test_keys_of_a_file_are_erased_and_certified(compact: Compact, logs: Path) -> None:
    (logs / "keys").write_text("61\n")
    erased = ("--erase-key", logs / "keys", "--key-format", "hex", "--verify", "always")

    result = compact(logs / "t-0", *erased, "--certificate", logs / "certificates", "--json")

    certificate = json.loads(result.out)["certificate"]
    assert json.loads((logs / "certificates").read_text()) == certificate
    assert certificate["counts"]["records_kept"] == len(certificate["erased_keys"]) == 1
    assert b"a2" not in (logs / "t-0" / f"{0:020}.log").read_bytes()


@pytest.mark.parametrize(
    ("options", "message"),
    (
        (("--dry-run", "--roll"), "choose one of them"),
        (("--until", "-1"), "-1 is too small; the minimum is 0"),
        (("--memory", "5"), "is too small"),
        (("--erase-key", "nowhere"), "nowhere"),
        (("--verify", "somehow"), "somehow"),
        (("--certificate", "nowhere/certificates"), "nowhere/certificates"),
    ),
)
def test_unusable_options_are_rejected(
    compact: Compact, logs: Path, options: tuple[str, ...], message: str
) -> None:
    result = compact(logs / "t-0", *options)

    assert result.code in {2, 3}
    assert message in result.err


def test_until_is_rejected_for_several_partitions(compact: Compact, logs: Path) -> None:
    result = compact(logs / "t-0", logs / "t-0", "--until", "3")

    assert (result.code, "of one partition" in result.err) == (2, True)


def test_roll_compacts_the_active_segment_too(compact: Compact, logs: Path) -> None:
    result = compact(logs / "t-0", "--roll", "--until", "4")

    assert "compacted up to 4: kept 3 of 4 records" in result.out


def test_pass_from_the_start_ignores_the_checkpoint(compact: Compact, logs: Path) -> None:
    (logs / "cleaner-offset-checkpoint").write_text("0\n1\nt 0 3\n")
    believed = compact(logs / "t-0", "--verify", "always")

    result = compact(logs / "t-0", "--verify", "always", "--from-start")

    assert (believed.code, result.code) == (1, 0)
    assert "--from-start" in believed.err
    assert "kept 2 of 3 records" in result.out


def test_key_without_a_record_is_a_finding(compact: Compact, logs: Path) -> None:
    (logs / "keys").write_bytes(b"a\n\nb\r\n")

    result = compact(logs / "t-0", "--erase-key", logs / "keys")

    assert result.code == 1
    assert "no record has the key in line 3" in result.err

"""`cordwood compact` as it is called: what is asked for reaches the work, or is refused."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.commands import Said, run
from tests.unit.compaction.compaction_samples import batch

Compact = Callable[..., Said]


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
    """Compact what is given, of a topic that is compacted."""

    def give(*words: object) -> Said:
        settings = ("--config", "cleanup.policy=compact")
        return run(("compact", *map(str, words), *settings), monkeypatch, capfd)

    return give


def test_dry_run_tells_what_would_be_done_and_does_not(compact: Compact, logs: Path) -> None:
    said = compact(logs / "t-0", "--dry-run")

    assert said.out.splitlines() == [
        f"{logs}/t-0: offsets 0 to 3, clean up to 0, dirty ratio 1.00",
        "segments 0, 2: rewritten as one",
        "segment 3: 70 bytes stay: the active segment is never cleaned",
    ]
    assert len(list((logs / "t-0").glob("*.log"))) == 3


def test_partition_is_compacted_and_told_of(compact: Compact, logs: Path) -> None:
    said = compact(logs / "t-0", "--seed", 7)

    assert said.code == 0
    assert said.out.splitlines()[-1] == (
        "compacted up to 3: 2 of 3 records and 140 of 149 bytes stay; "
        "verified: a sample of the keys, seed 7"
    )
    assert sorted(path.name for path in (logs / "t-0").glob("*.log")) == [
        f"{base:020}.log" for base in (0, 3)
    ]


def test_keys_of_a_file_are_erased_and_certified(compact: Compact, logs: Path) -> None:
    (logs / "keys").write_text("61\n")
    erased = ("--erase-key", logs / "keys", "--key-format", "hex", "--verify", "always")

    said = compact(logs / "t-0", *erased, "--certificate", logs / "certificates", "--json")

    certificate = json.loads(said.out)["certificate"]
    assert json.loads((logs / "certificates").read_text()) == certificate
    assert certificate["counts"]["records_kept"] == len(certificate["erased_keys"]) == 1
    assert b"a2" not in (logs / "t-0" / f"{0:020}.log").read_bytes()


@pytest.mark.parametrize(
    ("words", "told"),
    (
        (("--dry-run", "--roll"), "choose one of them"),
        (("--until", "-1"), "greater than or equal to 0"),
        (("--memory", "5"), "greater than or equal to"),
        (("--erase-key", "nowhere"), "nowhere"),
        (("--verify", "somehow"), "somehow"),
        (("--certificate", "nowhere/certificates"), "nowhere/certificates"),
    ),
)
def test_what_cannot_be_meant_is_refused(
    compact: Compact, logs: Path, words: tuple[str, ...], told: str
) -> None:
    said = compact(logs / "t-0", *words)

    assert said.code in {2, 3}
    assert told in said.err


def test_an_offset_is_refused_for_several_partitions(compact: Compact, logs: Path) -> None:
    said = compact(logs / "t-0", logs / "t-0", "--until", "3")

    assert (said.code, "of one partition" in said.err) == (2, True)


def test_roll_compacts_the_active_segment_too(compact: Compact, logs: Path) -> None:
    said = compact(logs / "t-0", "--roll", "--until", "4")

    assert "compacted up to 4: 3 of 4 records" in said.out

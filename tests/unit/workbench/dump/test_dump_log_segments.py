"""A dump prints its files in order, and its findings at the end."""

from cordwood.workbench.dump.dump_log_segments import DUMPS, dump
from tests.unit.workbench.dump_samples import LOG, batch, dump_of, outcome


def test_unknown_files_are_ignored_with_a_message() -> None:
    out, err, _ = outcome(dump(dump_of({}), ["a.deleted", "/x//leader-epoch-checkpoint"]))

    assert out == "Dumping a.deleted\nDumping /x/leader-epoch-checkpoint\n"
    assert err == (
        "Ignoring unknown file a.deleted\nIgnoring unknown file /x/leader-epoch-checkpoint\n"
    )


def test_files_are_dumped_in_the_given_order() -> None:
    out, _, _ = outcome(dump(dump_of({LOG: batch(), "5.log": b""}), ["5.log", f"/logs//{LOG}"]))

    assert [line for line in out.splitlines() if line.startswith("Dumping")] == [
        "Dumping 5.log",
        f"Dumping /logs/{LOG}",
    ]


def test_every_kind_of_file_has_its_dump() -> None:
    assert set(DUMPS) == {".log", ".checkpoint", ".index", ".timeindex", ".txnindex", ".snapshot"}

"""Verdicts on single partitions; `tests/test_damage_verdicts.py` compares the commands."""

import pytest

from cordwood.storage.checkpoints.checkpoint_files import RECOVERY_POINTS
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verdicts import verify_partition_at, verify_with_verdicts
from cordwood.workbench.verify.findings import Verdict
from tests.unit.storage.log_samples import DIRECTORY, batch
from tests.unit.storage.reader_samples import directory, name
from tests.unit.workbench.verified import healthy

GAP = {"log": bytes(batch(2)), "log_5": bytes(batch(2, at=5))}


def verdict(files: MemoryFiles, **config: str) -> Verdict | None:
    given = {name.replace("_", "."): value for name, value in config.items()}
    settings = SettingsFinder(files, given=given)
    return verify_partition_at(files, DIRECTORY, settings=settings).verdict


def test_verdict_on_a_healthy_log_is_whole() -> None:
    assert verdict(healthy()) is Verdict.WHOLE


@pytest.mark.parametrize(
    ("policy", "expected"),
    (
        ({}, Verdict.UNVERIFIED),
        ({"cleanup_policy": "delete"}, Verdict.LOST),
        ({"cleanup_policy": "compact"}, Verdict.WHOLE),
    ),
)
def test_verdict_on_missing_offsets_follows_the_policy(
    policy: dict[str, str], expected: Verdict
) -> None:
    assert verdict(directory(**GAP), **policy) is expected


def test_verdict_on_a_repairable_batch_names_salvage() -> None:
    data = batch(1) + batch(1, at=1)
    data[62] ^= 1
    files = directory(log=bytes(data))

    found = verify_partition_at(files, DIRECTORY)

    assert found.verdict is Verdict.REPAIRABLE
    assert found.verdict_line == (
        f"verdict: {DIRECTORY}: repairable; run: cordwood log salvage {DIRECTORY} --out NEWDIR"
    )


def test_torn_tail_of_a_copy_is_unverified() -> None:
    torn = bytes(batch(2)) + bytes(batch(2, at=2))[:-3]

    assert verdict(directory(log=torn)) is Verdict.UNVERIFIED
    assert verdict(directory(log=bytes(batch(2)) + bytes(50))) is Verdict.WHOLE


def test_torn_tail_of_a_log_that_a_broker_writes_is_whole() -> None:
    files = directory(log=bytes(batch(2)) + bytes(batch(2, at=2))[:-3])
    files.create(f"/d/{RECOVERY_POINTS}").append(b"0\n1\nt 0 2\n")

    assert verdict(files) is Verdict.WHOLE


def test_log_without_a_readable_batch_has_lost_records() -> None:
    files = directory(log=b"\xff" * 200, log_5=b"\xff" * 200)

    assert verdict(files) is Verdict.LOST


def test_segment_has_no_verdict() -> None:
    files = directory(**GAP)

    found = verify_with_verdicts(files, [f"{DIRECTORY}/{name(5)}"])

    assert found.partitions[0].verdict is None

"""All commands reach one verdict on each damage of docs/damage.md, and its command repairs it."""

from collections.abc import Iterator
from functools import cache
from typing import Final

import pytest

from cordwood.core.errors import CordwoodError, LogDirectoryError
from cordwood.core.ports import Ports
from cordwood.records.batch_checks import PlainBatchChecker
from cordwood.storage.log_config import LogConfig
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.repair_verdicts import reindex_with_verdict, salvage_with_verdict
from cordwood.workbench.salvage.salvage import SalvageOptions
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from cordwood.workbench.verdicts import verify_partition_at
from cordwood.workbench.verify.findings import Verdict, VerifiedPartition
from cordwood.workbench.verify.segment_verification import VerifyOptions
from tests.damage.kinds import DamagedLog, Kind
from tests.damage.outcomes import placed
from tests.damage.rows import kinds
from tests.unit.storage.log_samples import DIRECTORY, SMALL

OUT: Final = "/out"


def settings(files: MemoryFiles, log: DamagedLog) -> SettingsFinder:
    return SettingsFinder(files, given={"cleanup.policy": log.policy})


def verified(files: MemoryFiles, log: DamagedLog, path: str = DIRECTORY) -> VerifiedPartition:
    return verify_partition_at(files, path, settings=settings(files, log))


def salvaged(files: MemoryFiles, log: DamagedLog) -> Verdict | None:
    ports = Ports(files=files, clock=VirtualClock(), random=SeededRandom(1))
    options = SalvageOptions(config=SMALL)
    report = salvage_with_verdict(
        ports, DIRECTORY, out=OUT, options=options, settings=settings(files, log)
    )
    return report.verdict


def reindexed(files: MemoryFiles, log: DamagedLog) -> Verdict | None:
    report = reindex_with_verdict(
        files,
        DIRECTORY,
        config=LogConfig(index_interval_bytes=SMALL.index_interval_bytes),
        now_ms=VirtualClock().now_ms(),
        settings=settings(files, log),
        options=VerifyOptions(checker=PlainBatchChecker()),
    )
    return report.verdict


@cache
def verdicts() -> list[tuple[Kind, VerifiedPartition]]:
    """Return the result of `verify` for each row."""
    found = []
    for kind in kinds():
        log = kind.apply()[1]
        found.append((kind, verified(placed(log), log)))
    return found


def disagreements(kind: Kind, found: VerifiedPartition) -> Iterator[str]:
    """Yield the name of each command that reaches another verdict than `verify`."""
    log = kind.apply()[1]
    for name, command in (("salvage", salvaged), ("reindex", reindexed)):
        try:
            verdict = command(placed(log), log)
        except LogDirectoryError:
            continue  # an unfinished swap, a torn tail, no batch at all: exit code 3
        except CordwoodError:
            # A command that refuses ends with 1, so the partition must not be whole.
            if found.is_wrong:
                continue
            yield f"{kind.log}: {kind.title}: {name} refuses, verify: {found.verdict}"
        else:
            if verdict != found.verdict:
                yield f"{kind.log}: {kind.title}: {name}: {verdict}, verify: {found.verdict}"


def test_commands_agree_on_the_loss_of_records() -> None:
    assert [text for row in verdicts() for text in disagreements(*row)] == []


def test_states_without_damage_are_whole() -> None:
    harmless = {kind.title: found for kind, found in verdicts() if kind.is_harmless}

    assert harmless
    assert [title for title, found in harmless.items() if found.is_wrong] == []


@pytest.mark.parametrize("command", ("salvage", "reindex"))
def test_command_of_a_repairable_partition_repairs_it(command: str) -> None:
    repaired = 0

    for kind, found in verdicts():
        line = found.verdict_line or ""
        if found.verdict is not Verdict.REPAIRABLE or f"log {command}" not in line:
            continue
        log = kind.apply()[1]
        files = placed(log)
        (salvaged if command == "salvage" else reindexed)(files, log)
        name = DIRECTORY.rpartition("/")[2]
        path = f"{OUT}/{name}" if command == "salvage" else DIRECTORY
        after = verified(files, log, path)
        assert after.verdict is Verdict.WHOLE, f"{kind.log}: {kind.title}: {after}"
        repaired += 1
    assert repaired >= 10

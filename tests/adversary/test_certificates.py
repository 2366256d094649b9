"""Certificates of compacted random logs: each fits its log, and no log with another content."""

import os
import random
from collections import Counter
from collections.abc import Callable

import pytest

from cordwood.compaction.cleaning_job import Verify
from cordwood.storage.files.atomic_write import read_whole
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.certificate_check import check_certificate
from tests.adversary.certificate_changes import (
    HARMLESS,
    KINDS,
    Bounds,
    certified,
    changed,
    log_files,
    read_log,
)
from tests.adversary.compact_oracle import compacted, order_of
from tests.adversary.random_logs import random_log
from tests.adversary.verify_oracle import SOURCE, placed
from tests.adversary.witness_damages import Directory, directory_of
from tests.unit.workbench.compact_samples import PLAIN_READERS

SOAK = os.environ.get("CORDWOOD_SOAK") == "1"
LOGS = 100_000 if SOAK else 1_000
FIRST = int(os.environ.get("CORDWOOD_FIRST_SEED", "0"))
PARTS = 2
PLANTED_LOGS = 400

pytestmark = [pytest.mark.fuzz, pytest.mark.timeout(36_000 if SOAK else 180)]


def fault(seed: int, counts: Counter[str]) -> str:
    """Compact the log of a seed and change it; return what its certificate misjudges."""
    log, kind = random_log(seed), KINDS[seed % len(KINDS)]
    files, beside = placed(directory_of(log)), dict(log.beside)
    certificate = compacted(files, order_of(log, Verify.NEVER)).report.certificate
    if certificate is None:
        return ""
    left, bounds = read_log(_contents(files)), Bounds(certificate.start, certificate.end)
    other = changed(left, kind, bounds, random.Random(f"certificate {seed}"))
    if other is None:
        return ""
    is_same = certified(left, *bounds) == certified(other, *bounds)
    found = check_certificate(
        placed(Directory(log_files(other), beside, {})),
        SOURCE,
        certificate=certificate,
        readers=PLAIN_READERS,
    )
    counts[f"{kind}: {'the same' if is_same else 'other'}"] += 1
    return "" if found.is_wrong is not is_same else f"seed {seed}: {kind}: {found}"


def _contents(files: MemoryFiles) -> dict[str, bytes]:
    names = [name for name in files.list(SOURCE) if name.endswith(".log")]
    return {name: read_whole(files, f"{SOURCE}/{name}") for name in names}


@pytest.mark.parametrize("part", range(PARTS))
def test_certificate_fits_a_log_if_and_only_if_it_has_the_same_content(part: int) -> None:
    counts: Counter[str] = Counter()

    seeds = range(FIRST + part * LOGS // PARTS, FIRST + (part + 1) * LOGS // PARTS)
    wrong = [words for seed in seeds if (words := fault(seed, counts))]

    assert wrong == []
    expected = {f"{kind}: {'the same' if kind in HARMLESS else 'other'}" for kind in KINDS}
    assert counts.keys() >= expected, counts


def _none(*_: object) -> list[str]:
    return []


class _NoHash:
    """A hash that is the same for all bytes."""

    def __init__(self, *_: object) -> None: ...

    def update(self, _: object) -> None:
        """Leave the bytes out."""

    def digest(self) -> bytes:
        return b""

    def hexdigest(self) -> str:
        return "none"


@pytest.mark.parametrize(
    ("where", "mistake"),
    (
        ("certificate_check._record_differences", _none),
        ("certificate_check._state_differences", _none),
        ("record_digest.sha256", _NoHash),
        ("state_digest.StateDigest.add_rows", lambda *_: None),
        ("state_digest.StateDigest.add_run", lambda *_: None),
    ),
    ids=lambda each: str(each) if isinstance(each, str) else "",
)
def test_planted_mistake_is_found(
    where: str, mistake: Callable[..., object], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(f"cordwood.workbench.{where}", mistake)
    counts: Counter[str] = Counter()

    assert any(fault(seed, counts) for seed in range(PLANTED_LOGS))

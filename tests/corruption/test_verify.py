"""Hundreds of damaged directories: verify finds each fault, and none in healthy ones."""

import pytest

from cordwood.workbench.verify.verify import verify
from tests.corruption.faults import KINDS, hurt
from tests.corruption.healthy import healthy_log
from tests.corruption.rescue import files_of

SEEDS = 30
DIRECTORIES = 17
HEALTHY = 50


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_verify_finds_each_fault_in_its_file(kind: str) -> None:
    for seed in range(SEEDS):
        log = healthy_log(seed % DIRECTORIES)
        broken = hurt(log, kind, seed)

        found = [each.path for each in verify(files_of(broken), ["/source"]).all_findings]

        assert found, f"{kind} {seed}"
        segments = {touched.file[:20] for touched in broken.touched if touched.file in broken.files}
        assert not segments or any(segment in path for segment in segments for path in found), (
            f"{kind} {seed}"
        )


@pytest.mark.fuzz
def test_verify_reports_the_offsets_of_a_lost_segment() -> None:
    for seed in range(SEEDS):
        log = healthy_log(seed % DIRECTORIES)
        broken = hurt(log, "lost_segment", seed)
        (gone,) = (touched.file for touched in broken.touched)
        batches = [each for each in log.batches if each.file == gone]

        damages = verify(files_of(broken), ["/source"]).damages

        lost = (batches[0].base_offset, batches[-1].last_offset + 1)
        assert lost in [(each.first_offset, each.end_offset) for each in damages], seed


@pytest.mark.fuzz
def test_healthy_directories_have_no_findings() -> None:
    for seed in range(HEALTHY):
        healthy = hurt(healthy_log(seed), "nothing", seed)

        assert verify(files_of(healthy), ["/source"]).all_findings == ()

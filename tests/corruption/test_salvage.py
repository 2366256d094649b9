"""Hundreds of damaged directories: salvage keeps untouched records, and reports all others."""

import pytest

from tests.corruption.faults import KINDS, hurt
from tests.corruption.healthy import healthy_log
from tests.corruption.rescue import files_of, loaded, rescued, unforgivable, untouched_share

SEEDS = 30
DIRECTORIES = 17


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_salvage_keeps_untouched_records_and_reports_the_others(kind: str) -> None:
    for seed in range(SEEDS):
        log = healthy_log(seed % DIRECTORIES)
        broken = hurt(log, kind, seed)

        rescue = rescued(broken)

        assert unforgivable(log, broken, rescue) == [], f"{kind} {seed}"
        assert not loaded(rescue, is_clean=True).report.is_noteworthy
        assert loaded(rescue).report.truncated_bytes == 0


@pytest.mark.fuzz
def test_salvage_keeps_nearly_all_records_of_swapped_blocks() -> None:
    shares = []
    for seed in range(SEEDS):
        log = healthy_log(seed % DIRECTORIES)
        broken = hurt(log, "swapped_blocks", seed)
        shares.append(untouched_share(log, broken, rescued(broken)))

    assert sum(shares) / len(shares) > 0.995


@pytest.mark.fuzz
def test_salvage_of_healthy_directories_has_no_findings() -> None:
    for seed in range(50):
        log = healthy_log(seed)
        rescue = rescued(hurt(log, "nothing", seed))

        assert (rescue.report.is_whole, rescue.report.mended, rescue.report.notes) == (True, (), ())
        assert [tuple(record) for record in rescue.records.values()] == [
            record[:4] for record in log.records
        ]


def test_salvage_does_not_change_its_source() -> None:
    broken = hurt(healthy_log(1), "zeroed_page", 1)
    untouched = files_of(broken)

    rescue = rescued(broken)

    for folder in ("/source", "/source/orders-3"):
        assert untouched.list(folder) == rescue.files.list(folder)
        for name in broken.files if folder != "/source" else broken.beside:
            file = rescue.files.open(f"{folder}/{name}")
            assert file.pread(file.size, 0) == {**broken.files, **broken.beside}[name]


@pytest.mark.parametrize("kind", KINDS)
def test_generator_damages_each_directory(kind: str) -> None:
    for seed in range(SEEDS):
        log = healthy_log(seed % DIRECTORIES)
        broken = hurt(log, kind, seed)

        assert (broken.files, broken.beside) != (log.files, log.beside)

"""The generator of random logs: it makes logs of every kind, and legal ones."""

from collections import Counter

from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.virtual_clock import VirtualClock
from cordwood.workbench.verify.verify import verify
from tests.adversary.random_logs import FEATURES, NAME, RandomLog, random_log

SEEDS = 150


def files_of(log: RandomLog) -> MemoryFiles:
    """Return a file system with the log directory `/source`, and the partition in it."""
    files = MemoryFiles(VirtualClock())
    for path, contents in (("/source", log.beside), (f"/source/{NAME}", log.files)):
        files.make_directory(path)
        for name, data in contents.items():
            files.create(f"{path}/{name}").append(data)
    return files


def test_random_logs_have_every_feature() -> None:
    seen = Counter(word for seed in range(SEEDS) for word in random_log(seed).features)

    assert seen.keys() == FEATURES


def test_random_log_is_that_of_its_seed() -> None:
    assert random_log(7).files == random_log(7).files
    assert random_log(7).files != random_log(8).files


def test_verify_finds_no_damage_in_a_random_log_and_its_replica() -> None:
    for seed in range(SEEDS):
        for log in (random_log(seed), random_log(seed).replica(1)):
            assert not verify(files_of(log), [f"/source/{NAME}"]).is_damaged, seed

"""Log files of a directory have ranks."""

from cordwood.workbench.salvage.source_directory import source_files
from tests.unit.workbench.salvage_samples import SOURCE, batch, directory

ZERO = "00000000000000000000.log"
EIGHT = "00000000000000000008.log"


def test_swap_file_of_an_incomplete_set_has_the_lowest_rank() -> None:
    cleaned = f"{EIGHT}.cleaned"
    files = directory({ZERO: batch(0), f"{ZERO}.swap": batch(0), cleaned: b"", EIGHT: batch(8)})

    assert [(each.name, each.rank) for each in source_files(files, SOURCE)] == [
        (ZERO, 1),
        (EIGHT, 1),
        (f"{ZERO}.swap", 2),
    ]

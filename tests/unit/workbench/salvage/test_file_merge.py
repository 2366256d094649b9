"""Files with overlapping offsets are merged into one log."""

from cordwood.workbench.salvage.batch_run import runs_of
from cordwood.workbench.salvage.file_bounds import FileBounds
from cordwood.workbench.salvage.file_merge import MergedLog, merge_runs
from cordwood.workbench.salvage.salvaged_batch import Trust
from tests.unit.workbench.dump_samples import FOLDER
from tests.unit.workbench.salvage_samples import batch, chain_of, harmed, runs_in


def merged(contents: dict[str, bytes]) -> MergedLog:
    return merge_runs(*runs_in(contents))


def ranges(log: MergedLog) -> list[tuple[str, int, int]]:
    return [(run.file[-1], run.first, run.last) for run in log.runs]


def test_files_are_merged_in_the_order_of_offsets() -> None:
    assert ranges(merged({"b": batch(8), "a": batch(0) + batch(4)})) == [("a", 0, 7), ("b", 8, 11)]


def test_duplicate_batch_is_merged_once() -> None:
    log = merged({"a": batch(0) + batch(4), "b": batch(4) + batch(8)})

    assert ranges(log) == [("a", 0, 7), ("b", 8, 11)]
    assert (log.duplicates, log.contradicting) == (1, [])


def test_first_of_two_contradicting_batches_is_retained() -> None:
    log = merged({"a": batch(0) + batch(4), "b": batch(2)})

    assert ranges(log) == [("a", 0, 7)]
    assert [each.file[-1] for each in log.contradicting] == ["b"]


def test_whole_batch_is_preferred_to_a_rebuilt_one() -> None:
    log = merged({"a": harmed(batch(0), 61, 62), "b": batch(0)})

    assert ranges(log) == [("b", 0, 3)]
    assert log.contradicting == []


def test_stray_at_the_offsets_of_a_whole_batch_is_displaced() -> None:
    strays = chain_of(batch(2), f"{FOLDER}/x", bounds=FileBounds(40, 50)).batches
    assert [each.trust for each in strays] == [Trust.STRAY]

    for data, displaced in ((batch(0), strays), (harmed(batch(0), 61, 62), [])):
        (runs, _), windows = runs_in({"a": data, "x": batch(2)})
        log = merge_runs([runs, list(runs_of(strays))], windows)

        assert log.displaced == displaced
        assert log.contradicting == []


def test_copy_of_many_segments_is_merged_batch_by_batch() -> None:
    segments = {str(at): batch(4 * at) for at in range(9)}

    log = merged({**segments, "x": b"".join(segments.values()) + batch(36)})

    assert [run.first for run in log.runs] == [4 * at for at in range(10)]
    assert log.duplicates == 9

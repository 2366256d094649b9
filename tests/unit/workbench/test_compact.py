"""A partition is compacted where it lies, or told what that would be, and nothing else happens."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

from cordwood.compaction.erasing import is_sealed
from cordwood.core.errors import LogDirectoryError, SettingError
from cordwood.core.metadata_nodes import TOPIC
from cordwood.storage.reader_gaps import Gap
from cordwood.storage.reader_place import open_reader
from cordwood.workbench.compact import compact, places_to_compact, plan_compaction
from cordwood.workbench.metadata_found import METADATA_LOG
from cordwood.workbench.settings_found import SettingsFinder
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import Shelf, order
from tests.unit.workbench.metadata_samples import config, metadata_batch, topic


def test_compact_leaves_the_last_record_of_each_key_and_the_active_segment() -> None:
    shelf = Shelf("a1 b1", "a2 c1", "b2")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert shelf.records() == ["1:b1", "2:a2", "3:c1", "4:b2"]
    assert report.certificate is not None
    assert (report.end, report.certificate.counts.superseded) == (4, 1)
    assert (report.groups, report.certificate.verified) == (((0, 2),), "all keys")


def test_compact_has_another_seed_each_time_and_tells_it() -> None:
    shelf, seeds = Shelf("a1", "a2", "a3"), set[int]()

    for _ in range(2):
        report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())
        assert report.certificate is not None
        seeds.add(report.certificate.seed)

    assert len(seeds) == 2


def test_compact_is_repeated_by_the_seed_that_was_told() -> None:
    shelf, given = Shelf("a1", "a2", "a3"), replace(order(), seed=41)

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=given)

    assert report.certificate is not None
    assert report.certificate.seed == 41


def test_compact_tells_the_checkpoint_that_is_there() -> None:
    shelf = Shelf("a1", "a2", "a3")
    shelf.write("cleaner-offset-checkpoint", "0\n1\nother 3 7\n")

    compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert shelf.read("cleaner-offset-checkpoint") == "0\n2\nother 3 7\nt 0 2\n"


def test_compact_makes_the_checkpoint_that_a_copy_lacks() -> None:
    """Batches that go whole leave nothing else by which anybody knows that they are not lost."""
    shelf = Shelf("a1", "b1", "b2", "a2", "c1")
    files = shelf.place.files

    compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert files.list("/d") == [".lock", "cleaner-offset-checkpoint", "t-0"]
    assert not shelf.place.names(".deleted")
    with closing(open_reader(files, DIRECTORY)) as reader:
        assert list(reader.gaps()) == [Gap(0, 2, is_compacted=True)]


def test_compact_until_an_offset_does_not_forget_what_was_clean_behind_it() -> None:
    shelf = Shelf("a1", "a2", "a3", "a4")
    shelf.write("cleaner-offset-checkpoint", "0\n1\nt 0 2\n")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order(until=1))

    assert report.end == 1
    assert report.held[0].holds == ("it is not wanted",)
    assert shelf.read("cleaner-offset-checkpoint") == "0\n1\nt 0 2\n"


def test_compact_rolls_the_active_segment_when_it_is_wanted() -> None:
    shelf = Shelf("a1", "a2 a3")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order(is_rolled=True))

    assert (report.end, shelf.records()) == (3, ["2:a3"])


def test_compact_does_nothing_when_there_is_only_an_active_segment() -> None:
    shelf = Shelf("a1 a2")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert (report.groups, report.certificate) == ((), None)
    assert report.held[0].holds == ("the active segment is never cleaned",)


def test_compact_stays_below_the_high_watermark() -> None:
    shelf = Shelf("a1", "a2", "a3")
    shelf.write("replication-offset-checkpoint", "0\n1\nt 0 1\n")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert (report.end, shelf.records()) == (1, ["0:a1", "1:a2", "2:a3"])


def test_compact_takes_every_record_of_erased_keys() -> None:
    shelf = Shelf("a1 b1", "a2 b-", "c1")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order(b"a", b"b"))

    assert shelf.records() == ["4:c1"]
    assert report.certificate is not None
    assert [is_sealed(b"a", each) for each in report.certificate.erased_keys].count(True) == 1
    assert len(report.certificate.erased_keys) == 2


def test_compact_refuses_to_erase_what_stands_where_no_pass_comes() -> None:
    shelf = Shelf("a1", "b1", "a2 a3 a4 a5")

    message = "offsets 2, 3, 4 and 1 more, where no pass comes to: it ends at 2; with --roll"
    with pytest.raises(SettingError, match=message):
        compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order(b"a"))

    assert shelf.records()[0] == "0:a1"


def test_compact_erases_what_it_can_when_newer_records_may_stay() -> None:
    shelf = Shelf("a1", "b1", "a2")
    wanted = order(b"a", is_newer_left=True)

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=wanted)

    assert (report.newer, shelf.records()) == ((2,), ["1:b1", "2:a2"])


def test_compact_refuses_a_topic_that_is_not_compacted() -> None:
    shelf = Shelf("a1", "a2")
    deleted = shelf.settings(cleanup_policy="delete")

    with pytest.raises(SettingError, match=r"not compacted, says --config; .*=compact"):
        compact(shelf.tools, DIRECTORY, found=deleted, order=order())


def test_compact_refuses_a_topic_that_nobody_knows() -> None:
    shelf = Shelf("a1", "a2")
    unknown = SettingsFinder(shelf.place.files).of("/d", "t")

    with pytest.raises(SettingError, match="nobody says that its topic is compacted"):
        plan_compaction(shelf.tools, DIRECTORY, found=unknown, order=order())


def test_compact_refuses_a_directory_that_is_in_use() -> None:
    shelf = Shelf("a1", "a2")
    shelf.place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="in use by a broker"):
        compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())


def test_plan_changes_nothing_and_takes_no_lock() -> None:
    shelf = Shelf("a1", "a2", "a3")
    shelf.place.files.lock("/d/.lock")
    before = shelf.place.files.pending()

    report = plan_compaction(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    assert shelf.place.files.pending() == before
    assert (report.first_dirty, report.end, report.groups) == (0, 2, ((0, 1),))


def test_report_is_told_as_json() -> None:
    shelf = Shelf("a1", "a2", "a3")

    report = compact(shelf.tools, DIRECTORY, found=shelf.settings(), order=order())

    told = json.loads(report.to_json())
    assert told["held"] == [{"base_offset": 2, "size": 70, "holds": list(report.held[0].holds)}]
    assert told["certificate"]["counts"]["records_kept"] == 1


def with_metadata(shelf: Shelf, policy: str) -> Shelf:
    """Let Kafka's metadata say of the topic how it is cleaned up."""
    files = shelf.place.files
    files.make_directory(f"/d/{METADATA_LOG}")
    data = metadata_batch(topic("t"), config(TOPIC, "t", "cleanup.policy", policy))
    files.create(f"/d/{METADATA_LOG}/{0:020}.log").append(data)
    return shelf


def places(shelf: Shelf, path: str, **given: str) -> list[str]:
    settings = SettingsFinder(shelf.place.files, given=given)
    found = places_to_compact(shelf.place.files, [path], settings=settings)
    return [each.path for each in found]


def test_places_of_a_log_directory_are_those_that_metadata_call_compacted() -> None:
    shelf = with_metadata(Shelf("a1"), "compact")

    assert places(shelf, "/d") == places(shelf, DIRECTORY) == [DIRECTORY]


def test_places_of_a_log_directory_are_refused_when_none_is_compacted() -> None:
    shelf = with_metadata(Shelf("a1"), "delete")

    with pytest.raises(SettingError, match="no metadata say of a topic that it is compacted in /d"):
        places(shelf, "/d")


def test_places_of_a_log_directory_are_refused_when_all_are_said_to_be_compacted() -> None:
    shelf = with_metadata(Shelf("a1"), "delete")

    with pytest.raises(SettingError, match="is given for all topics of /d; give the directories"):
        places(shelf, "/d", **{"cleanup.policy": "compact"})

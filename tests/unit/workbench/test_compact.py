"""A partition is compacted in place; a dry run returns the plan and writes no file."""

import json
from contextlib import closing
from dataclasses import replace

import pytest

from cordwood.compaction.cleaning_job import CleaningFailedError, Verify
from cordwood.compaction.passes.key_erasure import is_sealed
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError, LogDirectoryError, SettingError
from cordwood.core.metadata_paths import TOPIC
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.storage.reader.offset_gaps import OffsetGap
from cordwood.storage.reader.path_resolution import open_reader
from cordwood.workbench.compact import find_compact_targets
from cordwood.workbench.topic_settings_lookup import SettingsFinder
from tests.unit.storage.log_samples import DIRECTORY
from tests.unit.workbench.compact_samples import CompactedPartition, order
from tests.unit.workbench.metadata_samples import config, metadata_batch, topic


def test_compact_keeps_the_last_record_of_each_key_and_the_active_segment() -> None:
    partition = CompactedPartition("a1 b1", "a2 c1", "b2")

    report = partition.compact(order())

    assert partition.records() == ["1:b1", "2:a2", "3:c1", "4:b2"]
    assert report.certificate is not None
    assert (report.end, report.certificate.counts.superseded) == (4, 1)
    assert (report.groups, report.certificate.verified) == (((0, 2),), "all keys")


def test_each_compaction_draws_and_reports_a_new_seed() -> None:
    partition, seeds = CompactedPartition("a1", "a2", "a3"), set[int]()

    for _ in range(2):
        report = partition.compact(order())
        assert report.certificate is not None
        seeds.add(report.certificate.seed)

    assert len(seeds) == 2


def test_configured_seed_is_used() -> None:
    partition, given = CompactedPartition("a1", "a2", "a3"), replace(order(), seed=41)

    report = partition.compact(given)

    assert report.certificate is not None
    assert report.certificate.seed == 41


def test_existing_checkpoint_is_updated() -> None:
    partition = CompactedPartition("a1", "a2", "a3")
    partition.write("cleaner-offset-checkpoint", "0\n1\nother 3 7\n")

    partition.compact(order())

    assert partition.read("cleaner-offset-checkpoint") == "0\n2\nother 3 7\nt 0 2\n"


def test_missing_checkpoint_is_created() -> None:
    """Without it, a verification would report the offsets of removed batches as lost."""
    partition = CompactedPartition("a1", "b1", "b2", "a2", "c1")
    files = partition.place.files

    partition.compact(order())

    assert files.list("/d") == [".lock", "cleaner-offset-checkpoint", "t-0"]
    assert not partition.place.names(".deleted")
    with closing(open_reader(files, DIRECTORY)) as reader:
        assert list(reader.gaps()) == [OffsetGap(0, 2, is_compacted=True)]


def test_until_does_not_lower_the_checkpoint() -> None:
    partition = CompactedPartition("a1", "a2", "a3", "a4")
    partition.write("cleaner-offset-checkpoint", "0\n1\nt 0 2\n")

    report = partition.compact(order(until=1))

    assert report.end == 1
    assert report.held[0].holds == ("it is at or above the requested end",)
    assert partition.read("cleaner-offset-checkpoint") == "0\n1\nt 0 2\n"


def test_compact_rolls_the_active_segment_on_request() -> None:
    partition = CompactedPartition("a1", "a2 a3")

    report = partition.compact(order(is_rolled=True))

    assert (report.end, partition.records()) == (3, ["2:a3"])


def test_single_active_segment_is_not_compacted() -> None:
    partition = CompactedPartition("a1 a2")

    report = partition.compact(order())

    assert (report.groups, report.certificate) == ((), None)
    assert report.held[0].holds == ("the active segment is never cleaned",)


def test_compact_stays_below_the_high_watermark() -> None:
    partition = CompactedPartition("a1", "a2", "a3")
    partition.write("replication-offset-checkpoint", "0\n1\nt 0 1\n")

    report = partition.compact(order())

    assert (report.end, partition.records()) == (1, ["0:a1", "1:a2", "2:a3"])


def test_all_records_of_erased_keys_are_removed() -> None:
    partition = CompactedPartition("a1 b1", "a2 b-", "c1")

    report = partition.compact(order(b"a", b"b"))

    assert partition.records() == ["4:c1"]
    assert report.certificate is not None
    assert [is_sealed(b"a", each) for each in report.certificate.erased_keys].count(True) == 1
    assert len(report.certificate.erased_keys) == 2


def test_erasing_keys_behind_the_pass_is_rejected() -> None:
    partition = CompactedPartition("a1", "b1", "a2 a3 a4 a5")

    message = (
        r"cannot erase 4 records of the keys to erase \(offsets 2, 3, 4 and 1 more\): the active "
        "segment is never cleaned; use --roll, or --leave-newer to keep these"
    )
    with pytest.raises(SettingError, match=message):
        partition.compact(order(b"a"))

    assert partition.records()[0] == "0:a1"


def test_older_records_are_erased_if_newer_ones_may_stay() -> None:
    partition = CompactedPartition("a1", "b1", "a2")
    wanted = order(b"a", is_newer_left=True)

    report = partition.compact(wanted)

    assert (report.newer, partition.records()) == ((2,), ["1:b1", "2:a2"])


def test_topic_that_is_not_compacted_is_rejected() -> None:
    partition = CompactedPartition("a1", "a2")
    deleted = partition.settings(cleanup_policy="delete")

    with pytest.raises(SettingError, match=r"not compacted \(source: --config\); .*=compact"):
        partition.compact(order(), deleted)


def test_topic_of_unknown_policy_is_rejected() -> None:
    partition = CompactedPartition("a1", "a2")
    unknown = SettingsFinder(partition.place.files).find("/d", "t")

    with pytest.raises(SettingError, match="the cleanup policy of its topic is unknown"):
        partition.plan(order(), unknown)


def test_directory_in_use_is_rejected() -> None:
    partition = CompactedPartition("a1", "a2")
    partition.place.files.lock("/d/.lock")

    with pytest.raises(LogDirectoryError, match="in use by a broker"):
        partition.compact(order())


def test_plan_changes_no_files_and_takes_no_lock() -> None:
    partition = CompactedPartition("a1", "a2", "a3")
    partition.place.files.lock("/d/.lock")
    before = partition.place.files.pending()

    report = partition.plan(order())

    assert partition.place.files.pending() == before
    assert (report.first_dirty, report.end, report.groups) == (0, 2, ((0, 1),))


def test_report_as_json_contains_the_certificate() -> None:
    partition = CompactedPartition("a1", "a2", "a3")

    report = partition.compact(order())

    parsed = json.loads(report.to_json())
    assert parsed["held"] == [{"base_offset": 2, "size": 70, "holds": list(report.held[0].holds)}]
    assert parsed["certificate"]["counts"]["records_kept"] == 1


def with_metadata(partition: CompactedPartition, policy: str) -> CompactedPartition:
    """Write metadata of Kafka with the cleanup policy of the topic."""
    files = partition.place.files
    files.make_directory(f"/d/{METADATA_LOG}")
    data = metadata_batch(topic("t"), config(TOPIC, "t", "cleanup.policy", policy))
    files.create(f"/d/{METADATA_LOG}/{0:020}.log").append(data)
    return partition


def targets(partition: CompactedPartition, path: str, **given: str) -> list[str]:
    settings = SettingsFinder(partition.place.files, given=given)
    found = find_compact_targets(partition.place.files, [path], settings=settings)
    return [each.path for each in found]


def test_log_directory_selects_its_compacted_partitions() -> None:
    partition = with_metadata(CompactedPartition("a1"), "compact")

    assert targets(partition, "/d") == targets(partition, DIRECTORY) == [DIRECTORY]


def test_log_directory_without_compacted_topics_is_rejected() -> None:
    partition = with_metadata(CompactedPartition("a1"), "delete")

    with pytest.raises(SettingError, match="/d: the metadata contain no compacted topic"):
        targets(partition, "/d")


def test_policy_given_for_a_log_directory_is_rejected() -> None:
    partition = with_metadata(CompactedPartition("a1"), "delete")

    with pytest.raises(
        SettingError,
        match=r"/d: cleanup\.policy is given for all topics of the log directory; give",
    ):
        targets(partition, "/d", **{"cleanup.policy": "compact"})


def test_checkpoint_that_says_too_much_is_a_violation() -> None:
    partition = CompactedPartition("a1 b1", "a2 b2", "a3 c1", "d1")
    partition.write("cleaner-offset-checkpoint", "0\n1\nt 0 6\n")

    with pytest.raises(CleaningFailedError, match="compact --from-start"):
        partition.compact(order())

    assert partition.records() == ["0:a1", "1:b1", "2:a2", "3:b2", "4:a3", "5:c1", "6:d1"]


def test_pass_from_the_start_ignores_the_checkpoint() -> None:
    partition = CompactedPartition("a1 b1", "a2 b2", "a3 c1", "d1")
    partition.write("cleaner-offset-checkpoint", "0\n1\nt 0 6\n")
    from_start = replace(order(), pass_options=PassOptions(is_from_start=True))

    report = partition.compact(from_start)

    assert partition.records() == ["3:b2", "4:a3", "5:c1", "6:d1"]
    assert report.certificate is not None
    assert (report.certificate.first_dirty, report.certificate.keys) == (0, 3)


def test_checkpoint_is_that_of_the_pass_from_the_start() -> None:
    partition = CompactedPartition("a1 b1", "a2 b2", "a3 c1", "d1")
    partition.write("cleaner-offset-checkpoint", "0\n1\nt 0 6\n")
    until = PassOptions(until=4, is_from_start=True)

    partition.compact(replace(order(), pass_options=until))

    assert partition.read("cleaner-offset-checkpoint") == "0\n1\nt 0 4\n"


def test_damaged_checkpoint_stops_the_command_before_any_change() -> None:
    partition = CompactedPartition("a1 b1", "a2", "b2")
    partition.write("cleaner-offset-checkpoint", "x")

    with pytest.raises(DamagedFileError, match="cleaner-offset-checkpoint"):
        partition.compact(order())

    assert partition.records() == ["0:a1", "1:b1", "2:a2", "3:b2"]


def test_certificate_counts_the_erased_records_of_each_key() -> None:
    partition = CompactedPartition("a1 b1 a2", "c1", "d1")

    report = partition.compact(order(b"a", b"c", b"e"))

    certificate = report.certificate
    assert certificate is not None
    counts = dict(zip(certificate.erased_keys, certificate.erased_records, strict=True))
    found = {key: n for seal, n in counts.items() for key in (b"a", b"c") if is_sealed(key, seal)}
    assert (found, sorted(counts.values())) == ({b"a": 2, b"c": 1}, [0, 1, 2])
    assert report.absent_keys == (b"e",)
    assert json.loads(report.to_json())["absent_keys"] == 1


def test_tombstones_are_kept_for_ever() -> None:
    partition = CompactedPartition("a1", "a-", "b1")
    settings = partition.settings(delete_retention_ms=str(INT64_MAX))

    for verify in (Verify.ALWAYS, Verify.SAMPLE):
        partition.compact(replace(order(), verify=verify), settings)

    assert partition.records() == ["1:a-", "2:b1"]


def test_reason_to_keep_a_segment_has_its_setting_source_and_time() -> None:
    partition = CompactedPartition("a1", "a2", "a3")
    found = partition.settings(min_compaction_lag_ms="86400000")

    report = partition.plan(order(), found)

    young = "a record is younger than min.compaction.lag.ms = 86400000 (--config), until "
    assert report.held[0].holds[0].startswith(young)
    assert report.held[2].holds[0] == "the active segment is never cleaned"
    assert report.held[2].holds[1].startswith("an older segment is held by min.compaction.lag.ms =")


def test_erasing_young_records_names_the_setting() -> None:
    partition = CompactedPartition("a1", "a2", "a3")
    found = partition.settings(min_compaction_lag_ms="86400000")

    message = "use --config min.compaction.lag.ms=0 and --roll, or --leave-newer"
    with pytest.raises(SettingError, match=message):
        partition.compact(order(b"a"), found)


def test_active_segment_is_not_rolled_if_it_stays_as_it_is() -> None:
    partition = CompactedPartition("a1", "a2")
    found = partition.settings(min_compaction_lag_ms="86400000")
    before = partition.place.files.list(DIRECTORY)

    report = partition.compact(order(is_rolled=True), found)

    assert report.certificate is None
    assert partition.place.files.list(DIRECTORY) == before
    assert "younger than" in report.held[1].holds[0]


def test_erased_records_are_counted_by_key() -> None:
    partition = CompactedPartition("a1 a2 b1", "c1")

    report = partition.compact(order(b"a", b"x"))

    assert (report.erased_keys, report.absent_keys) == (((b"a", 2),), (b"x",))
    assert "erased_keys" not in report.to_json().partition('"certificate"')[0]


def test_key_that_is_only_behind_the_pass_is_not_absent() -> None:
    partition = CompactedPartition("a1", "b1")

    report = partition.compact(order(b"b", is_newer_left=True))

    assert (report.newer, report.absent_keys) == ((1,), ())

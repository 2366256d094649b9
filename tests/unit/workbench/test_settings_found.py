"""Settings are found in what lies around a log."""

import pytest

from cordwood.core.errors import DamagedFileError, SettingError
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.metadata_records import BROKER, TOPIC
from cordwood.workbench.settings_found import METADATA_LOG, FoundSettings, find_settings
from tests.unit.workbench.metadata_samples import config, leader_batch, metadata_batch, topic

FOLDER = "/logs"
LOG = "00000000000000000000.log"
META = b"version=1\ncluster.id=c\nnode.id=1\n"


def directory(contents: dict[str, bytes], beside: dict[str, bytes] | None = None) -> MemoryFiles:
    """Return a log directory with a metadata log, and files beside that."""
    files = MemoryFiles()
    for path in (FOLDER, f"{FOLDER}/{METADATA_LOG}"):
        files.make_directory(path)
    for name, data in contents.items():
        files.create(f"{FOLDER}/{METADATA_LOG}/{name}").append(data)
    for name, data in (beside or {}).items():
        files.create(f"{FOLDER}/{name}").append(data)
    return files


def found(
    files: MemoryFiles, broker_config: str | None = None, topic: str | None = "t", **given: str
) -> FoundSettings:
    texts = {key.replace("_", "."): text for key, text in given.items()}
    return find_settings(files, FOLDER, topic=topic, given=texts, broker_config=broker_config)


def source_of(settings: FoundSettings, name: str) -> tuple[object, str]:
    resolved = settings.resolved[name]
    return resolved.value, resolved.source.rpartition("/")[2]


def test_defaults_hold_where_nothing_is_said() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)

    settings = found(files)

    assert settings.sources == ()
    assert source_of(settings, "retention.ms") == (604_800_000, "default")


def test_first_source_that_says_a_name_counts() -> None:
    log = metadata_batch(
        topic("t"),
        config(TOPIC, "t", "segment.bytes", "5000000"),
        config(BROKER, "1", "log.segment.bytes", "6000000"),
        config(BROKER, "1", "log.retention.ms", "6"),
        config(BROKER, "", "log.retention.ms", "7"),
        config(BROKER, "", "log.retention.bytes", "7"),
    )
    server = b"log.retention.bytes=8\nlog.cleanup.policy=compact\nnode.id=1\n"
    files = directory({LOG: log}, {"meta.properties": META, "server.properties": server})

    settings = found(files, broker_config=f"{FOLDER}/server.properties", cleanup_policy="delete")

    assert source_of(settings, "cleanup.policy") == (("delete",), "--config")
    assert source_of(settings, "segment.bytes") == (5_000_000, f"{METADATA_LOG}, topic t")
    assert source_of(settings, "retention.ms") == (6, f"{METADATA_LOG}, 1")
    assert source_of(settings, "retention.bytes") == (7, f"{METADATA_LOG}, all brokers")
    assert settings.config.segment_bytes == 5_000_000
    assert len(settings.sources) == 5


def test_newest_snapshot_and_the_log_behind_it_are_read() -> None:
    def said(value: str) -> bytes:
        return config(TOPIC, "t", "retention.ms", value)

    contents = {
        "00000000000000000002-0000000001.checkpoint": metadata_batch(said("1")),
        "00000000000000000005-0000000001.checkpoint": leader_batch() + metadata_batch(said("2")),
        LOG: metadata_batch(said("3"), said("4")),
        "00000000000000000004.log.deleted": b"x",
        "quorum-state": b"x",
    }
    files = directory(contents)

    before = found(files)
    files.create(f"{FOLDER}/{METADATA_LOG}/00000000000000000005.log").append(
        metadata_batch(said("5"), at=5)
    )

    assert source_of(before, "retention.ms")[0] == 2
    assert source_of(found(files), "retention.ms")[0] == 5


def test_metadata_are_not_asked_for_a_log_that_has_no_topic() -> None:
    assert found(directory({LOG: b""}), topic=None).sources == ()


def test_metadata_that_cannot_be_read_are_refused() -> None:
    message = LegacyBuilder(1)
    message.append(None, b"x")

    with pytest.raises(DamagedFileError, match="--config"):
        found(directory({LOG: bytes(message.build()) + metadata_batch(b"\x07")}))


def test_setting_that_there_is_none_of_is_refused() -> None:
    with pytest.raises(SettingError, match="did you mean"):
        found(directory({}), retention_mss="1")

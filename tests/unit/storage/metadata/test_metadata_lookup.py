"""Metadata is found in a log directory: Cordwood's or Kafka's."""

from collections.abc import Mapping
from typing import NoReturn

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_paths import GROUP, TOPIC, config_path, encode_texts, topic_path
from cordwood.core.ports import Files
from cordwood.core.znodes import ZNode
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, encode_line
from cordwood.storage.metadata.metadata_lookup import (
    METADATA_LOG,
    find_metadata,
    read_kafka_metadata,
)
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.workbench.metadata_samples import config, leader_batch, metadata_batch, topic
from tests.unit.workbench.test_topic_settings_lookup import FOLDER, LOG, directory


def config_in(files: Files) -> Mapping[str, str]:
    metadata = find_metadata(files, FOLDER)
    assert metadata is not None
    return metadata.config_of(TOPIC, "t")


def own(**nodes: bytes) -> bytes:
    paths = {"topic": topic_path("t"), "config": config_path(TOPIC, "t")}
    line = encode_line({paths[name]: ZNode(data) for name, data in nodes.items()})
    return b"cordwood.metadata 1\n" + line


def test_directory_without_metadata_has_none() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)

    assert find_metadata(files, FOLDER) is None


def test_own_metadata_takes_precedence() -> None:
    kafkas = metadata_batch(topic("u"), config(TOPIC, "t", "retention.ms", "5"))
    files = directory({LOG: kafkas}, {METADATA_FILE: own(topic=b"")})

    metadata = find_metadata(files, FOLDER)

    assert metadata is not None
    assert metadata.has_topic("t")
    assert not metadata.has_topic("u")
    assert metadata.config_of(TOPIC, "t") == {}


def test_own_configuration_that_cannot_be_read_is_an_error() -> None:
    files = directory({}, {METADATA_FILE: own(config=b"x")})

    with pytest.raises(DamagedFileError, match=f"{METADATA_FILE}, /config/topics/t"):
        config_in(files)


def test_newest_snapshot_and_the_log_after_it_are_read() -> None:
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

    before = config_in(files)
    files.create(f"{FOLDER}/{METADATA_LOG}/00000000000000000005.log").append(
        metadata_batch(said("5"), at=5)
    )

    assert before == {"retention.ms": "2"}
    assert config_in(files) == {"retention.ms": "5"}


def test_unreadable_metadata_is_rejected() -> None:
    message = LegacyBuilder(1)
    message.append(None, b"x")

    with pytest.raises(DamagedFileError, match="--config"):
        read_kafka_metadata(
            directory({LOG: bytes(message.build()) + metadata_batch(b"\x07")}), FOLDER
        )


class VanishingFiles(MemoryFiles):
    """Files that disappear between the listing and the opening."""

    def open(self, path: str, *, writable: bool = False) -> NoReturn:
        raise FileNotFoundError(path, writable)


def test_metadata_that_always_changes_is_an_error() -> None:
    files = VanishingFiles()
    for path in (FOLDER, f"{FOLDER}/{METADATA_LOG}"):
        files.make_directory(path)
    files.create(f"{FOLDER}/{METADATA_LOG}/{LOG}")

    with pytest.raises(DamagedFileError, match="changes faster"):
        read_kafka_metadata(files, FOLDER)


def test_groups_with_a_configuration_are_found_in_both_forms() -> None:
    nodes = {config_path(GROUP, "a/b"): ZNode(encode_texts({"consumer.session.timeout.ms": "5"}))}
    ours = b"cordwood.metadata 1\n" + encode_line(nodes)
    kafkas = metadata_batch(config(GROUP, "a/b", "consumer.session.timeout.ms", "5"))

    for found in (
        find_metadata(directory({}, {METADATA_FILE: ours}), FOLDER),
        find_metadata(directory({LOG: kafkas}), FOLDER),
    ):
        assert found is not None
        assert found.groups == ("a/b",)
        assert found.config_of(GROUP, "a/b") == {"consumer.session.timeout.ms": "5"}

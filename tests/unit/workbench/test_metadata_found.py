"""Metadata are found in a log directory: ours, or Kafka's."""

from collections.abc import Mapping
from typing import NoReturn

import pytest

from cordwood.core.errors import DamagedFileError
from cordwood.core.metadata_nodes import TOPIC, config_path, topic_path
from cordwood.core.nodes import Node
from cordwood.core.ports import Files
from cordwood.records.legacy_builder import LegacyBuilder
from cordwood.storage.metadata_lines import METADATA_FILE, encode_line
from cordwood.testing.files import MemoryFiles
from cordwood.workbench.metadata_found import METADATA_LOG, find_metadata, read_metadata
from tests.unit.workbench.metadata_samples import config, leader_batch, metadata_batch, topic
from tests.unit.workbench.test_settings_found import FOLDER, LOG, directory


def said_of(files: Files) -> Mapping[str, str]:
    metadata = find_metadata(files, FOLDER)
    assert metadata is not None
    return metadata.config_of(TOPIC, "t")


def own(**nodes: bytes) -> bytes:
    paths = {"topic": topic_path("t"), "config": config_path(TOPIC, "t")}
    line = encode_line({paths[name]: Node(data) for name, data in nodes.items()})
    return b"cordwood.metadata 1\n" + line


def test_there_are_none_in_a_directory_without_them() -> None:
    files = MemoryFiles()
    files.make_directory(FOLDER)

    assert find_metadata(files, FOLDER) is None


def test_own_metadata_count_alone() -> None:
    kafkas = metadata_batch(topic("u"), config(TOPIC, "t", "retention.ms", "5"))
    files = directory({LOG: kafkas}, {METADATA_FILE: own(topic=b"")})

    metadata = find_metadata(files, FOLDER)

    assert metadata is not None
    assert (metadata.has_topic("t"), metadata.has_topic("u")) == (True, False)
    assert metadata.config_of(TOPIC, "t") == {}


def test_own_configuration_that_cannot_be_read_is_named() -> None:
    files = directory({}, {METADATA_FILE: own(config=b"x")})

    with pytest.raises(DamagedFileError, match=f"{METADATA_FILE}, /config/topics/t"):
        said_of(files)


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

    before = said_of(files)
    files.create(f"{FOLDER}/{METADATA_LOG}/00000000000000000005.log").append(
        metadata_batch(said("5"), at=5)
    )

    assert before == {"retention.ms": "2"}
    assert said_of(files) == {"retention.ms": "5"}


def test_metadata_that_cannot_be_read_are_refused() -> None:
    message = LegacyBuilder(1)
    message.append(None, b"x")

    with pytest.raises(DamagedFileError, match="--config"):
        read_metadata(directory({LOG: bytes(message.build()) + metadata_batch(b"\x07")}), FOLDER)


class Vanishing(MemoryFiles):
    """Files of which none can be opened any more, once it has been listed."""

    def open(self, path: str, *, writable: bool = False) -> NoReturn:
        raise FileNotFoundError(path, writable)


def test_metadata_that_always_change_are_given_up() -> None:
    files = Vanishing()
    for path in (FOLDER, f"{FOLDER}/{METADATA_LOG}"):
        files.make_directory(path)
    files.create(f"{FOLDER}/{METADATA_LOG}/{LOG}")

    with pytest.raises(DamagedFileError, match="change faster"):
        read_metadata(files, FOLDER)

"""Topic ids are found in the metadata of a broker's directories."""

from pathlib import PurePosixPath

import pytest

from cordwood.core.metadata_paths import topic_path
from cordwood.core.uuids import Uuid, format_uuid
from cordwood.core.znodes import ZNode
from cordwood.storage.checkpoints.meta_properties import META_PROPERTIES
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, encode_line
from cordwood.storage.metadata.metadata_lookup import METADATA_LOG
from cordwood.storage.metadata.topic_ids import read_topic_ids
from cordwood.testing.memory_files import MemoryFiles
from tests.unit.workbench.metadata_samples import TOPIC_ID, metadata_batch, topic

BROKER_1, BROKER_2 = (b"version=1\ncluster.id=c\nnode.id=%d\n" % node for node in (1, 2))


def placed(contents: dict[str, bytes]) -> MemoryFiles:
    files, made = MemoryFiles(), set[str]()
    for path, data in contents.items():
        for folder in map(str, reversed(PurePosixPath(path).parents[:-1])):
            if folder not in made:
                files.make_directory(folder)
                made.add(folder)
        files.create(path).append(data)
    return files


def kafka(path: str) -> dict[str, bytes]:
    return {f"{path}/{METADATA_LOG}/{0:020}.log": metadata_batch(topic("t"))}


def own(node: bytes) -> dict[str, bytes]:
    line = encode_line({topic_path("t"): ZNode(node)})
    return {f"/a/d/{METADATA_FILE}": b"cordwood.metadata 1\n" + line}


def test_ids_of_the_log_directory_are_found() -> None:
    found = read_topic_ids(placed(kafka("/a/d")), "/a/d")

    assert found is not None
    assert found.path == f"/a/d/{METADATA_LOG}"
    assert (found.id_of("t"), found.id_of("u")) == (TOPIC_ID, None)


@pytest.mark.parametrize(("other", "is_found"), ((BROKER_1, True), (BROKER_2, False)))
def test_ids_next_to_the_log_directory_are_those_of_the_same_broker(
    other: bytes, *, is_found: bool
) -> None:
    meta = {f"/a/d/{META_PROPERTIES}": BROKER_1, f"/a/e/{META_PROPERTIES}": other}

    found = read_topic_ids(placed(meta | kafka("/a/e")), "/a/d")

    assert (found is not None) == is_found


def test_own_metadata_takes_precedence() -> None:
    node = b'{"topic_id": "%s"}' % format_uuid(Uuid(b"own " * 4)).encode()

    found = read_topic_ids(placed(kafka("/a/d") | own(node)), "/a/d")

    assert found is not None
    assert (found.id_of("t"), found.id_of("u")) == (b"own " * 4, None)


@pytest.mark.parametrize("node", (b"x", b"{}", b"[]", b'{"topic_id": "?"}'))
def test_damaged_node_has_no_id(node: bytes) -> None:
    found = read_topic_ids(placed(own(node)), "/a/d")

    assert found is not None
    assert found.id_of("t") is None


def test_damaged_metadata_has_no_ids() -> None:
    assert read_topic_ids(placed({f"/a/d/{METADATA_FILE}": b"x"}), "/a/d") is None
    assert read_topic_ids(placed({f"/a/d/{METADATA_LOG}/{0:020}.log": bytes(99)}), "/a/d") is None

"""`meta.properties` is written, read and compared between the directories of a broker."""

import pytest

from cordwood.core.errors import DamagedFileError, LogDirectoryError
from cordwood.core.uuids import Uuid, format_uuid, parse_uuid
from cordwood.storage.checkpoints.meta_properties import (
    ClusterIdentity,
    MetaProperties,
    ensure_consistent,
    format_meta_properties,
    make_directory_id,
    parse_meta_properties,
    read_meta_properties,
    write_meta_properties,
)
from cordwood.testing.memory_files import MemoryFiles
from cordwood.testing.seeded_random import SeededRandom

CLUSTER = "zd2vLVrZQlCLJj8-k7A10w"
DIRECTORY_ID = parse_uuid("3Adc4FjfTeypRWROmQDNIQ")
OLD = MetaProperties(version=0, cluster_id=CLUSTER, node_id=0, directory_id=DIRECTORY_ID)
NEW = MetaProperties(cluster_id="my@cluster@id", node_id=2, directory_id=DIRECTORY_ID)


@pytest.mark.parametrize(
    ("meta", "text"),
    (
        (MetaProperties(version=0), "version=0\n"),
        (MetaProperties(version=0, cluster_id=CLUSTER), f"version=0\ncluster.id={CLUSTER}\n"),
        (MetaProperties(version=0, node_id=0), "version=0\nbroker.id=0\n"),
        (
            OLD,
            f"version=0\ncluster.id={CLUSTER}\nbroker.id=0\ndirectory.id=3Adc4FjfTeypRWROmQDNIQ\n",
        ),
        (
            MetaProperties(cluster_id=CLUSTER, node_id=7),
            f"version=1\ncluster.id={CLUSTER}\nnode.id=7\n",
        ),
        (
            NEW,
            "version=1\ncluster.id=my@cluster@id\nnode.id=2\ndirectory.id=3Adc4FjfTeypRWROmQDNIQ\n",
        ),
    ),
)
def test_text_has_the_known_properties(meta: MetaProperties, text: str) -> None:
    assert format_meta_properties(meta) == text.encode()
    assert parse_meta_properties(text.encode(), path="/x") == meta


def test_text_of_kafka_has_a_date_and_may_have_no_version() -> None:
    text = b"#\n#Sat Nov 21 16:20:35 UTC 2026\nbroker.id=+5\nother=1\n"

    assert parse_meta_properties(text, path="/x") == MetaProperties(version=0, node_id=5)


@pytest.mark.parametrize(
    ("text", "problem"),
    (
        ("version=2", "version is unknown .*expected 0 or 1, found '2'"),
        ("version=one", "version is unknown"),
        ("version=1\nnode.id=1", "cluster.id is missing"),
        ("version=1\ncluster.id=c\nbroker.id=1", "node.id is missing"),
        ("version=1\ncluster.id=c\nnode.id=x", "node.id is not a 32-bit number"),
        ("broker.id=2147483648", "broker.id is not a 32-bit number"),
        ("", "owner is missing .*found 'no key'"),
        ("directory.id=abc", "owner is missing"),
        ("node.id=1\ncluster.id=c", "node.id is not in version 0"),
        ("broker.id=1\ndirectory.id=abc", "directory.id is not an id"),
        ("version=0\nbroker.id=\\u00", "a damaged escape .*position 2"),
    ),
)
def test_damaged_text_is_rejected_with_the_reason(text: str, problem: str) -> None:
    with pytest.raises(DamagedFileError, match=f"^/logs/x: {problem}.*; restore it"):
        parse_meta_properties(text.encode(), path="/logs/x")


@pytest.mark.parametrize("meta", (OLD, NEW))
def test_file_survives_a_crash_when_it_has_been_written(meta: MetaProperties) -> None:
    files = MemoryFiles()
    files.make_directory("/logs")
    files.sync_directory("/")

    before = read_meta_properties(files, "/logs")
    write_meta_properties(files, "/logs", meta=meta)
    files.crash()

    assert before is None
    assert read_meta_properties(files, "/logs") == meta


def test_new_directory_id_is_unused() -> None:
    first = make_directory_id(SeededRandom(1))

    second = make_directory_id(SeededRandom(1), used={first})

    assert first != second
    assert not format_uuid(first).startswith("-")


def test_directories_agree_on_cluster_and_node() -> None:
    found = {
        "/a": MetaProperties(version=0),
        "/b": MetaProperties(cluster_id="c", node_id=1, directory_id=DIRECTORY_ID),
        "/c": MetaProperties(version=0, node_id=1),
    }

    assert ensure_consistent(found) == ClusterIdentity("c", 1)
    assert ensure_consistent({}, node_id=4) == ClusterIdentity(None, 4)


@pytest.mark.parametrize(
    ("other", "problem"),
    (
        (MetaProperties(cluster_id="d", node_id=2), "/b: belongs to cluster d, not to cluster c"),
        (MetaProperties(version=0, node_id=3), "/b: belongs to node 3, not to node 2"),
        (
            MetaProperties(cluster_id="c", node_id=2, directory_id=DIRECTORY_ID),
            "/b: has the same directory.id as /a .3Adc4FjfTeypRWROmQDNIQ.",
        ),
    ),
)
def test_directories_are_rejected_when_they_differ(other: MetaProperties, problem: str) -> None:
    one = MetaProperties(cluster_id="c", node_id=2, directory_id=DIRECTORY_ID)

    with pytest.raises(LogDirectoryError, match=problem):
        ensure_consistent({"/a": one, "/b": other})


def test_directory_is_rejected_when_it_has_another_owner() -> None:
    with pytest.raises(
        LogDirectoryError, match="belongs to node 0, not to node 9; configure the node"
    ):
        ensure_consistent({"/a": OLD}, node_id=9)


@pytest.mark.parametrize("reserved", (bytes(16), bytes(15) + b"c", bytes(8) + b"\xff" * 8))
def test_directory_is_rejected_when_its_id_is_reserved(reserved: bytes) -> None:
    meta = MetaProperties(version=0, directory_id=Uuid(reserved))

    with pytest.raises(LogDirectoryError, match=r"has a reserved directory.id"):
        ensure_consistent({"/a": meta})


def test_directory_id_is_free_from_100_on() -> None:
    meta = MetaProperties(version=0, directory_id=Uuid(bytes(15) + b"d"))

    assert ensure_consistent({"/a": meta}) == ClusterIdentity(None, None)

"""Paths verified: partitions, log directories and single segments."""

import pytest

from cordwood.core.metadata_paths import topic_path
from cordwood.core.znodes import ZNode
from cordwood.records.kernels.batch_checks import KernelBatchChecker
from cordwood.storage.checkpoints.metadata_file_format import METADATA_FILE, encode_line
from cordwood.workbench.verify.verify import verify
from tests.unit.storage.log_samples import DIRECTORY, batch
from tests.unit.storage.reader_samples import directory, harm, name
from tests.unit.workbench.verified import damages, healthy, verified


def test_log_directory_is_its_partitions_and_its_checkpoints() -> None:
    files = healthy()
    files.create("/d/recovery-point-offset-checkpoint").append(b"0\n1\n")
    files.create("/d/meta.properties").append(b"version=7\n")

    found = verify(files, ["/d"])

    assert [each.path for each in found.partitions] == [DIRECTORY]
    assert [each.path for each in found.findings] == [
        "/d/recovery-point-offset-checkpoint",
        "/d/meta.properties",
    ]


def own_metadata(topic: str) -> bytes:
    return b"cordwood.metadata 1\n" + encode_line({topic_path(topic): ZNode(b"")})


@pytest.mark.parametrize(
    ("metadata", "path", "wrong"),
    (
        (own_metadata("t"), "/d", 1),
        (own_metadata("t"), "/d/t-0", 1),
        (own_metadata("other"), "/d", 0),
        (None, "/d", 0),
    ),
)
def test_missing_offsets_are_damage_if_the_metadata_contain_no_compaction(
    metadata: bytes | None, path: str, wrong: int
) -> None:
    files = directory(log=bytes(batch(1)), log_5=bytes(batch(1, at=5)))
    if metadata is not None:
        files.create(f"/d/{METADATA_FILE}").append(metadata)

    found = verify(files, [path])

    assert (len(found.damages), len(found.all_findings)) == (wrong, 1)


def test_metadata_speak_of_no_directory_with_another_name() -> None:
    files = directory(log=bytes(batch(1)), log_5=bytes(batch(1, at=5)))
    files.create(f"/d/{METADATA_FILE}").append(own_metadata("t"))
    files.rename("/d/t-0", "/d/t-0.0123456789abcdef0123456789abcdef-stray")

    assert not verify(files, ["/d/t-0.0123456789abcdef0123456789abcdef-stray"]).is_damaged


def test_unreadable_metadata_are_damage_and_leave_the_policy_unknown() -> None:
    files = directory(log=bytes(batch(1)), log_5=bytes(batch(1, at=5)))
    files.create(f"/d/{METADATA_FILE}").append(b"x")

    (found,) = verify(files, ["/d"]).damages

    assert (found.path, found.cause) == (f"/d/{METADATA_FILE}", "the file is not a metadata file")


def test_segment_is_verified_alone() -> None:
    files = healthy()
    harm(files, name(0), 70)

    assert damages(files, f"{DIRECTORY}/{name(17)}") == []
    assert damages(files, f"{DIRECTORY}/{name(0, '.index')}") == [(".log", "the checksum is wrong")]
    assert verified(files, f"{DIRECTORY}/{name(17)}").segments == 1


def test_progress_is_all_bytes_of_logs() -> None:
    files = healthy()
    told: list[int] = []
    harm(files, name(0), 70)

    found = verify(files, [DIRECTORY], checker=KernelBatchChecker(), on_bytes=told.append)

    assert sum(told) == found.partitions[0].size
    assert found.is_damaged

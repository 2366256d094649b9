"""A certificate fits the log that the pass left, and no other one."""

import struct
from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import pytest

from cordwood.compaction.certificate import Certificate
from cordwood.core.binary import crc32c
from cordwood.core.errors import DamagedFileError
from cordwood.testing.memory_files import MemoryFiles
from cordwood.workbench.certificate_check import (
    CertificateCheck,
    check_certificate,
    missing_partition,
    read_certificates,
)
from cordwood.workbench.reindex import reindex
from tests.unit.compaction.compaction_samples import batch, marker, sent
from tests.unit.storage.log_samples import DIRECTORY, NOW, follow, headers_of, lead
from tests.unit.storage.reader_samples import got, harm, name, put
from tests.unit.workbench.compact_samples import CONFIG, PLAIN_READERS, CompactedPartition, order


def compacted() -> tuple[CompactedPartition, Certificate]:
    partition = CompactedPartition("a1 b1", "a2 c1 c-", "b2")
    certificate = partition.compact(order()).certificate
    assert certificate is not None
    return partition, certificate


def checked(partition: CompactedPartition, certificate: Certificate) -> CertificateCheck:
    files = partition.place.files
    return check_certificate(files, DIRECTORY, certificate=certificate, readers=PLAIN_READERS)


def test_certificate_fits_the_log_that_the_pass_left() -> None:
    partition, certificate = compacted()

    found = checked(partition, certificate)

    assert (found.differences, found.records, found.sha256) == ((), 3, certificate.sha256)
    assert str(found).startswith("certified: /d/t-0: 3 records below offset 5, SHA-256 ")


def test_later_records_and_segments_do_not_matter() -> None:
    partition, certificate = compacted()
    log = partition.place.open(CONFIG)
    lead(log, batch(0, "a3"))
    log.roll()
    log.close()

    assert checked(partition, certificate).differences == ()


def moved(partition: CompactedPartition, *, has_records: bool) -> CertificateCheck:
    """Check a log whose first segment begins at offset 1, with its records or without."""
    certificate = partition.compact(order()).certificate
    files = partition.place.files
    assert certificate is not None
    put(files, name(1), got(files, name(0)) if has_records else b"")
    for each in files.list(DIRECTORY):
        if each.startswith(name(0, ".")):
            files.remove(f"{DIRECTORY}/{each}")
    rebuild_all(files)
    return checked(partition, certificate)


def test_log_that_begins_later_with_the_same_records_is_certified() -> None:
    """A salvage begins the log at the first batch."""
    found = moved(CompactedPartition("a1", "a2 c1", "b2"), has_records=True)

    assert (found.records, found.differences) == (2, ())


def test_log_that_begins_later_without_records_is_not_certified() -> None:
    found = moved(CompactedPartition("a1", "a2 c1", "b2"), has_records=False)

    assert "the log begins at offset 1, and the certificate at 0" in found.differences


def test_later_pass_has_another_certificate() -> None:
    partition, certificate = compacted()
    partition.compact(order(b"a"))

    assert any("2 records" in each for each in checked(partition, certificate).differences)


@pytest.mark.parametrize(
    ("changes", "words"),
    (
        ({"sha256": "00"}, "the SHA-256 of the records differs"),
        ({"sha256": ""}, "the certificate has no SHA-256"),
        ({"end": 99}, "the log ends at offset 6"),
    ),
)
def test_changed_certificate_does_not_fit(changes: dict[str, str | int], words: str) -> None:
    partition, certificate = compacted()

    found = checked(partition, replace(certificate, **changes))  # type: ignore[arg-type]  # fields

    assert any(words in each for each in found.differences)


def test_log_with_two_records_of_a_key_is_not_certified() -> None:
    _, certificate = compacted()
    other = CompactedPartition("a1 b1", "a2 c1 c-", "b2")

    found = checked(other, certificate)

    assert any("a later one of its key survives" in each for each in found.differences)


def test_keys_of_a_log_with_other_segments_are_not_compared_which_is_a_note() -> None:
    partition, certificate = compacted()
    files = partition.place.files
    put(files, name(0), got(files, name(0)) + got(files, name(5)))
    files.remove(f"{DIRECTORY}/{name(5)}")
    reindex(files, DIRECTORY, config=CONFIG, now_ms=NOW)

    found = checked(partition, certificate)

    assert (found.differences, certificate.verified) == ((), "all keys")
    assert "\nnote: /d/t-0: two records of one key were not looked for" in str(found)


def test_damaged_log_is_not_certified() -> None:
    partition, certificate = compacted()
    harm(partition.place.files, name(0), 66)

    (difference,) = checked(partition, certificate).differences

    assert difference.startswith("the log cannot be read: ")


def test_partition_elsewhere_is_not_certified() -> None:
    _, certificate = compacted()

    found = missing_partition(certificate)

    assert (found.partition, found.is_wrong) == ("t-0", True)


def test_last_certificate_of_a_partition_counts() -> None:
    partition, certificate = compacted()
    lines = [each.to_json() for each in (certificate, replace(certificate, end=3))]
    partition.write("certificates", "\n".join(lines))

    found = read_certificates(partition.place.files, "/d/certificates")

    assert {name: each.end for name, each in found.items()} == {"t-0": 3}


def test_file_without_a_certificate_is_rejected() -> None:
    partition, _ = compacted()
    partition.write("certificates", "\n")

    with pytest.raises(DamagedFileError, match="the file has no certificate"):
        read_certificates(partition.place.files, "/d/certificates")


class Field(NamedTuple):
    """New values of fields in a batch, as `struct` packs them."""

    place: int
    codes: str
    values: tuple[int, ...]


#: Changes of a batch of the cleaned log: where it begins, and fields in it.
STATES: dict[str, tuple[int, Iterable[Field]]] = {
    "an ABORT in place of a COMMIT": (7, [Field(69, "b", (0,))]),
    "another producer id": (5, [Field(43, "q", (9,))]),
    "another producer epoch": (5, [Field(51, "h", (1,))]),
    "another sequence": (5, [Field(53, "i", (40,))]),
    "no producer": (5, [Field(21, "h", (0,)), Field(43, "qhi", (-1, -1, -1))]),
    "in an open transaction": (8, [Field(21, "h", (0x10,)), Field(43, "qhi", (77, 0, 0))]),
    "out of its transaction": (5, [Field(21, "h", (0,))]),
    "another producer of a marker": (7, [Field(43, "q", (7,))]),
    "another coordinator epoch": (7, [Field(73, "i", (3,))]),
}


def transactional() -> tuple[CompactedPartition, Certificate]:
    """Return a cleaned log with committed transactions at 0 and 5, whose markers are at 2 and 7."""
    partition = CompactedPartition()
    log = partition.place.open(CONFIG)
    for number, data in enumerate(
        (
            sent(0, "a1 b1", producer=7) + marker(2, producer=7, is_commit=True),
            batch(3, "a2 c-") + sent(5, "d1 e1", producer=8),
            marker(7, producer=8, is_commit=True) + batch(8, "f1"),
            batch(9, "z1"),
        )
    ):
        if number:
            log.roll()
        for each in headers_of(data):
            follow(log, data[each.position : each.end])
    log.set_high_watermark(log.bounds.log_end)
    log.close()
    certificate = partition.compact(order()).certificate
    assert certificate is not None
    return partition, certificate


def altered(partition: CompactedPartition, at: int, fields: Iterable[Field]) -> None:
    """Write fields into the batch at an offset, and rebuild all files from the log."""
    data = bytearray(got(partition.place.files, name(0)))
    (found,) = (each for each in headers_of(bytes(data)) if each.base_offset == at)
    for place, codes, values in fields:
        struct.pack_into(f">{codes}", data, found.position + place, *values)
    checked = bytes(data[found.position + 21 : found.end])
    struct.pack_into(">I", data, found.position + 17, crc32c(checked))
    put(partition.place.files, name(0), bytes(data))
    rebuild_all(partition.place.files)


def rebuild_all(files: MemoryFiles) -> None:
    """Rebuild all files from the log; a snapshot could have ended a transaction of it."""
    for each in files.list(DIRECTORY):
        if each.endswith(".snapshot"):
            files.remove(f"{DIRECTORY}/{each}")
    reindex(files, DIRECTORY, config=CONFIG, now_ms=NOW)


@pytest.mark.parametrize("change", STATES.values(), ids=STATES)
def test_log_with_other_states_of_records_is_not_certified(
    change: tuple[int, Iterable[Field]],
) -> None:
    partition, certificate = transactional()
    assert checked(partition, certificate).differences == ()

    altered(partition, *change)

    words = "the SHA-256 of producers and outcomes of transactions differs"
    assert any(each.startswith(words) for each in checked(partition, certificate).differences)


def test_log_without_a_marker_is_not_certified() -> None:
    partition, certificate = transactional()
    data = got(partition.place.files, name(0))
    (found,) = (each for each in headers_of(data) if each.base_offset == 7)
    put(partition.place.files, name(0), data[: found.position] + data[found.end :])

    rebuild_all(partition.place.files)

    words = "the log has 1 transaction markers (certificate: 2)"
    assert words in checked(partition, certificate).differences


def test_older_certificate_has_a_note_on_states() -> None:
    partition, certificate = transactional()
    altered(partition, *STATES["another sequence"])

    found = checked(partition, replace(certificate, states_version=0, states_sha256=""))

    assert (found.is_wrong, len(found.notes)) == (False, 1)
    assert "\nnote: /d/t-0: the certificate is of an older version" in str(found)


def test_unknown_version_of_states_is_not_certified() -> None:
    partition, certificate = transactional()

    found = checked(partition, replace(certificate, states_version=2))

    assert found.differences[0].startswith("version 2 of its SHA-256 of states is unknown")

"""A certificate fits the log that the pass left, and no other one."""

from dataclasses import replace

import pytest

from cordwood.compaction.certificate import Certificate
from cordwood.core.errors import DamagedFileError
from cordwood.records.plain_decoder import PlainDecoder
from cordwood.workbench.certificate_check import (
    CertificateCheck,
    check_certificate,
    missing_partition,
    read_certificates,
)
from tests.unit.compaction.compaction_samples import batch
from tests.unit.storage.log_samples import DIRECTORY, lead
from tests.unit.storage.reader_samples import harm, name
from tests.unit.workbench.compact_samples import CONFIG, CompactedPartition, order


def compacted() -> tuple[CompactedPartition, Certificate]:
    partition = CompactedPartition("a1 b1", "a2 c1 c-", "b2")
    certificate = partition.compact(order()).certificate
    assert certificate is not None
    return partition, certificate


def checked(partition: CompactedPartition, certificate: Certificate) -> CertificateCheck:
    files = partition.place.files
    return check_certificate(files, DIRECTORY, certificate=certificate, decoder=PlainDecoder())


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

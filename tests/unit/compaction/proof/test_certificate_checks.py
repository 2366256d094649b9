"""Comparison of certificates with the verified counts."""

from dataclasses import replace

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.proof.certificate_checks import certificate_faults
from tests.unit.compaction.both_sides import certificate
from tests.unit.compaction.compaction_samples import PARTITION

SEEN = certificate(PassCounts(superseded=5, tombstones_dropped=2, stream=7))


def wrongs(counts: PassCounts, *, is_sample: bool = False) -> list[str]:
    found = certificate_faults(certificate(counts), SEEN, is_sample=is_sample)
    return sorted(each.what for each in found)


def test_certificate_with_the_verified_counts_is_correct() -> None:
    assert wrongs(replace(SEEN.counts)) == []


def test_certificate_with_another_count_is_a_violation() -> None:
    assert wrongs(replace(SEEN.counts, stream=8)) == ["the certificate's stream was seen otherwise"]


def test_certificate_violation_has_the_expected_and_the_found_value() -> None:
    said = certificate(replace(SEEN.counts, stream=8))

    (fault,) = certificate_faults(said, SEEN, is_sample=False)

    assert (fault.file, fault.position, fault.offset) == (str(PARTITION), -1, -1)
    assert (fault.expected, fault.found) == ("7", "8")


def test_certificate_of_all_keys_distinguishes_expired_from_superseded_records() -> None:
    assert wrongs(replace(SEEN.counts, superseded=4, tombstones_dropped=3)) == [
        "the certificate's superseded was seen otherwise",
        "the certificate's tombstones dropped was seen otherwise",
    ]


def test_sample_verifies_only_the_sum_of_expired_and_superseded_records() -> None:
    same = replace(SEEN.counts, superseded=4, tombstones_dropped=3)
    other = replace(SEEN.counts, superseded=4)

    assert wrongs(same, is_sample=True) == []
    assert wrongs(other, is_sample=True) == [
        "the certificate's superseded or expired was seen otherwise"
    ]


def test_ranges_and_method_of_a_certificate_are_not_verified() -> None:
    said = replace(SEEN, ranges=3, verified="all keys", erased_keys=("k",))

    assert list(certificate_faults(said, SEEN, is_sample=False)) == []

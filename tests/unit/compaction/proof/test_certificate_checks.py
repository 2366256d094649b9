"""Certificates held against what was seen."""

from dataclasses import replace

from cordwood.compaction.certificate import PassCounts
from cordwood.compaction.proof.certificate_checks import certificate_faults
from tests.unit.compaction.both_sides import certificate
from tests.unit.compaction.compaction_samples import PARTITION

SEEN = certificate(PassCounts(superseded=5, tombstones_dropped=2, stream=7))


def wrongs(counts: PassCounts, *, is_sample: bool = False) -> list[str]:
    found = certificate_faults(certificate(counts), SEEN, is_sample=is_sample)
    return sorted(each.what for each in found)


def test_a_certificate_is_right_when_it_says_what_was_seen() -> None:
    assert wrongs(replace(SEEN.counts)) == []


def test_a_certificate_is_wrong_in_what_it_says_otherwise() -> None:
    assert wrongs(replace(SEEN.counts, stream=8)) == ["the certificate's stream was seen otherwise"]


def test_both_sides_of_what_is_said_otherwise_are_shown() -> None:
    said = certificate(replace(SEEN.counts, stream=8))

    (fault,) = certificate_faults(said, SEEN, is_sample=False)

    assert (fault.file, fault.position, fault.offset) == (str(PARTITION), -1, -1)
    assert (fault.expected, fault.found) == ("7", "8")


def test_a_certificate_of_all_keys_tells_expired_from_superseded() -> None:
    assert wrongs(replace(SEEN.counts, superseded=4, tombstones_dropped=3)) == [
        "the certificate's superseded was seen otherwise",
        "the certificate's tombstones dropped was seen otherwise",
    ]


def test_a_sample_tells_their_sum_alone() -> None:
    same = replace(SEEN.counts, superseded=4, tombstones_dropped=3)
    other = replace(SEEN.counts, superseded=4)

    assert wrongs(same, is_sample=True) == []
    assert wrongs(other, is_sample=True) == [
        "the certificate's superseded or expired was seen otherwise"
    ]


def test_a_certificate_is_not_asked_how_it_came_about() -> None:
    said = replace(SEEN, ranges=3, verified="all keys", erased_keys=("k",))

    assert list(certificate_faults(said, SEEN, is_sample=False)) == []

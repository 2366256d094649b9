"""Check of a certificate against the verifier's own counts of both sides.

With a sample of the keys it is unknown which removed records had a later one. Then only the sum of
those and of the expired tombstones is compared.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.proof.violations import Violation

#: Fields that a walk cannot count: the method of the pass, and fields for other readers.
_UNSEEN: Final = (
    *("erased_keys", "erased_records", "ranges", "seed", "sha256", "start"),
    *("states_sha256", "states_version", "verified"),
)
_OF_ALL_KEYS: Final = ("keys", "superseded", "tombstones_dropped")


def certificate_faults(
    certificate: Certificate, seen: Certificate, *, is_sample: bool
) -> Iterator[Violation]:
    """Yield the wrong fields of a certificate."""
    said, found = _flat(certificate), _flat(seen)
    unseen = _UNSEEN + (_OF_ALL_KEYS if is_sample else ())
    for name in said.keys() - unseen:
        if said[name] != found[name]:
            what = f"the certificate's {name.replace('_', ' ')} was seen otherwise"
            where = certificate.partition
            yield Violation(what, where, -1, -1, str(found[name]), str(said[name]))


def _flat(certificate: Certificate) -> dict[str, object]:
    fields: dict[str, object] = asdict(certificate)
    counts = certificate.counts
    gone = counts.superseded + counts.tombstones_dropped
    return fields | asdict(counts) | {"counts": None, "superseded_or_expired": gone}

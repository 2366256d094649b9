"""What a certificate says, held against what was seen on both sides.

Of a sample of the keys it is not known which of the records that are gone had a later one: then
only the sum is compared of those and of the tombstones that went in time.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Final

from cordwood.compaction.certificate import Certificate
from cordwood.compaction.violations import Violation

#: What no walk can tell: how the pass went about it, and what is told to others.
_UNSEEN: Final = ("erased_keys", "ranges", "seed", "verified")
_OF_ALL_KEYS: Final = ("keys", "superseded", "tombstones_dropped")


def certificate_faults(
    certificate: Certificate, seen: Certificate, *, is_sample: bool
) -> Iterator[Violation]:
    """Yield what a certificate says otherwise than it was seen."""
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

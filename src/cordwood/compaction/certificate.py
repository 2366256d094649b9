"""The certificate of a pass: its results in numbers, to be printed, stored, and verified."""

import json
from dataclasses import asdict, dataclass, fields

from cordwood.compaction.key_hash import SEEDS
from cordwood.core.binary import INT64_MAX
from cordwood.core.errors import DamagedFileError

#: The characters of a wrong line that an error shows.
_SHOWN = 40


@dataclass(slots=True)
class PassCounts:
    """Totals of a rewrite (Kafka: `CleanerStats`); all are sums, except `stream`.

    Records are the numbered ones; markers are the records of control batches. Of the batches kept,
    some are copied, some emptied, and the others rewritten. `superseded` records have an erased
    key, or a later record has their key. `unkeyed` comes from the key map: marks do not show
    whether a record has a key, so a rewrite counts these records as superseded.

    `stream` is a hash over offset, timestamp, key, value and headers of all kept records, in order.
    It does not depend on batching or compression.
    """

    batches_read: int = 0
    batches_kept: int = 0
    batches_copied: int = 0
    batches_emptied: int = 0
    bytes_read: int = 0
    bytes_kept: int = 0
    records_read: int = 0
    records_kept: int = 0
    superseded: int = 0
    unkeyed: int = 0
    tombstones_kept: int = 0
    tombstones_dropped: int = 0
    aborted: int = 0
    markers_kept: int = 0
    markers_dropped: int = 0
    stream: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Certificate:
    """The plan's times and offsets, and the counts of the rewrite.

    `keys` counts distinct keys among dirty records. `verified` is the extent of the verification:
    "all keys", "a sample of the keys, seed" with the seed, or "no". `seed` is the job's; with it a
    verification selects the same sample again.

    The caller of the pass adds the others. `erased_keys` are seals (`key_erasure`), and
    `erased_records` counts the records of each that were removed. `sha256` is that of the surviving
    records from `start` to `end`, read from the log after the pass (`workbench.record_digest`).
    `states_sha256` is that of their producers and outcomes (`workbench.state_digest`), in the form
    of `states_version`. A certificate of an older version has 0 and an empty text.
    """

    partition: str
    first_dirty: int
    end: int
    now_ms: int
    segments_before: int
    segments_after: int
    keys: int
    ranges: int
    counts: PassCounts
    erased_keys: tuple[str, ...] = ()
    verified: str = "no"
    seed: int = 0
    erased_records: tuple[int, ...] = ()
    start: int = 0
    sha256: str = ""
    states_version: int = 0
    states_sha256: str = ""

    def to_json(self) -> str:
        """Return the certificate as a JSON object; the stream hash in hexadecimal digits."""
        fields = asdict(self)
        fields["counts"]["stream"] = f"{self.counts.stream:016x}"
        return json.dumps(fields)


def parse_certificate(line: str, *, path: str, number: int) -> Certificate:
    """Return the certificate in a line of a file; unknown fields are ignored.

    DamagedFileError, with the number of the line, if it is not a certificate.
    """
    try:
        given = json.loads(line)
        known = {each.name for each in fields(Certificate)}
        said = {name: value for name, value in given.items() if name in known}
        counted = {each.name: given["counts"][each.name] for each in fields(PassCounts)}
        counted["stream"] = int(counted["stream"], 16)
        for name in ("erased_keys", "erased_records"):
            said[name] = tuple(said.get(name, ()))
        certificate = Certificate(**{**said, "counts": PassCounts(**counted)})
        _check_values(certificate)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DamagedFileError(
            "the line is not a certificate",
            path=path,
            position=number,
            expected="a JSON object of cordwood compact",
            found=repr(line[:_SHOWN]),
            remedy="give the file of cordwood compact --certificate, unchanged",
        ) from error
    return certificate


def _check_values(certificate: Certificate) -> None:
    """Raise ValueError for a value that no pass writes."""
    offsets = (certificate.start, certificate.end)
    counts = [getattr(certificate.counts, each.name) for each in fields(PassCounts)]
    is_valid = (
        all(_is_value(getattr(certificate, each.name), each.type) for each in fields(Certificate))
        and all(_is_value(each, str) for each in certificate.erased_keys)
        and all(_is_value(each, int) for each in (*counts, *certificate.erased_records))
        and 0 <= offsets[0] <= offsets[1] <= INT64_MAX
        and 0 <= certificate.seed < SEEDS
    )
    if not is_valid:
        raise ValueError("a field of another type, or out of its range")


def _is_value(value: object, kind: object) -> bool:
    """Return whether a field of texts or numbers has a value of its type; True is not a number."""
    return kind not in {int, str} or type(value) is kind

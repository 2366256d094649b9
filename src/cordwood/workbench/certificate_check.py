"""Check of a certificate of compaction by a third person: against the log alone.

    partition, start, end   the log is the one of the certificate, and has its range; it may begin
                            later if it has the same records
    SHA-256, counts         of the records below `end`, read from the log, are the certificate's
    states                  so are the producers, the outcomes of transactions and the markers; a
                            certificate of an older version does not state them, which is a note
    keys                    no key has two records below `end`, if the certificate covers all keys;
                            aborted records and records without keys are gone. This needs a segment
                            that begins at `end`; without one, a note states that

Batches may differ: after another pass that removed nothing, or after a conversion, the records are
the same ones. A later pass that removed records or markers has a certificate of its own.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass

from cordwood.compaction.certificate import Certificate, parse_certificate
from cordwood.compaction.kernels import engine
from cordwood.compaction.plan.candidates import assess
from cordwood.compaction.plan.directory_facts import plan_directory, read_directory_facts
from cordwood.compaction.plan.plan_builder import PassOptions
from cordwood.compaction.proof.batch_reader import ReadOptions
from cordwood.compaction.proof.key_checks import KeyScope
from cordwood.compaction.proof.verifier import verify_alone
from cordwood.core.errors import BadRecordsError, DamagedFileError
from cordwood.core.ports import Files
from cordwood.storage.files.atomic_write import read_whole
from cordwood.storage.files.directory_source import DirectorySource
from cordwood.storage.log_config import LogConfig
from cordwood.storage.reader.path_resolution import open_reader, partition_of
from cordwood.workbench.record_digest import (
    RecordDigest,
    RecordReaders,
    digest_records,
    open_all_records,
)
from cordwood.workbench.state_digest import STATES_VERSION

_MEMORY_BYTES = 128 << 20
_IO_BUFFER_BYTES = 4 << 20
_ALL_KEYS = KeyScope().words
_NO_RECORDS = RecordDigest("", 0, 0)
_UNCUT_KEYS = (
    "two records of one key were not looked for, because no segment begins at the end of the "
    "certificate; compact again with --verify always"
)
_NO_STATES = (
    "the certificate is of an older version: it does not state producers and outcomes of "
    "transactions; compact again for one that does"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class CertificateCheck:
    """The result for one partition: what the log has below `end`, and why it is not certified."""

    path: str
    partition: str
    end: int
    records: int
    sha256: str
    verified: str
    states_sha256: str = ""
    differences: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def is_wrong(self) -> bool:
        return bool(self.differences)

    def __str__(self) -> str:
        """Return one line, and one for each difference and note."""
        said = f"{self.records:,} records below offset {self.end}, SHA-256 {self.sha256}"
        line = f"certified: {self.path}: {said}; verified: {self.verified}"
        if self.is_wrong:
            line = f"NOT CERTIFIED: {self.path}: {said}"
        differences = (f"difference: {self.path}: {each}" for each in self.differences)
        notes = (f"note: {self.path}: {each}" for each in self.notes)
        return "\n".join([line, *differences, *notes])

    def to_json(self) -> str:
        """Return the fields as a JSON object."""
        return json.dumps({"is_wrong": self.is_wrong, **asdict(self)})


def read_certificates(files: Files, path: str) -> dict[str, Certificate]:
    """Return the last certificate of each partition in a file; DamagedFileError for other lines."""
    found: dict[str, Certificate] = {}
    text = read_whole(files, path).decode(errors="replace")
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip():
            certificate = parse_certificate(line, path=path, number=number)
            found[certificate.partition] = certificate
    if not found:
        raise DamagedFileError(
            "the file has no certificate",
            path=path,
            remedy="give the file of cordwood compact --certificate",
        )
    return found


def check_certificate(
    files: Files, path: str, *, certificate: Certificate, readers: RecordReaders
) -> CertificateCheck:
    """Compare the partition in a directory with its certificate."""
    digest, notes = _NO_RECORDS, list[str]()
    try:
        with closing(open_all_records(files, path)) as reader:
            first, log_end, _ = reader.offsets()
            start, end = max(certificate.start, first), min(certificate.end, log_end)
            digest = digest_records(reader, start=start, end=end, readers=readers)
            contents = [
                *_record_differences(certificate, digest),
                *_state_differences(certificate, digest),
            ]
            differences = [
                *_range_differences(certificate, first, log_end, is_same=not contents),
                *contents,
                *_key_differences(files, path, certificate, notes),
            ]
    except BadRecordsError as error:
        differences = [f"the log cannot be read: {error}"]
    return _checked(path, certificate, digest=digest, differences=differences, notes=notes)


def missing_partition(certificate: Certificate) -> CertificateCheck:
    """Return the result for a certificate whose partition is not at the given paths."""
    differences = ["its partition is not at the given paths"]
    return _checked(certificate.partition, certificate, digest=_NO_RECORDS, differences=differences)


def _checked(
    path: str,
    certificate: Certificate,
    *,
    digest: RecordDigest,
    differences: list[str],
    notes: Sequence[str] = (),
) -> CertificateCheck:
    return CertificateCheck(
        path=path,
        partition=certificate.partition,
        end=certificate.end,
        records=digest.records,
        sha256=digest.sha256,
        verified=certificate.verified,
        states_sha256=digest.states_sha256,
        differences=tuple(differences),
        notes=(*notes, *(() if certificate.states_version else (_NO_STATES,))),
    )


def _range_differences(
    certificate: Certificate, first: int, log_end: int, *, is_same: bool
) -> Iterator[str]:
    """Yield the bounds that the log does not reach.

    A log with the same records may begin later: a salvage begins it at the first batch.
    """
    if first > certificate.start and not is_same:
        yield f"the log begins at offset {first}, and the certificate at {certificate.start}"
    if log_end < certificate.end:
        yield f"the log ends at offset {log_end}, and the certificate at {certificate.end}"


def _record_differences(certificate: Certificate, digest: RecordDigest) -> Iterator[str]:
    counts = certificate.counts
    if digest.records != counts.records_kept:
        yield f"the log has {digest.records} records (certificate: {counts.records_kept})"
    if digest.tombstones != counts.tombstones_kept:
        yield f"the log has {digest.tombstones} tombstones (certificate: {counts.tombstones_kept})"
    if not certificate.sha256:
        yield "the certificate has no SHA-256; compact again for one that has it"
    elif digest.sha256 != certificate.sha256:
        yield f"the SHA-256 of the records differs (certificate: {certificate.sha256})"


def _state_differences(certificate: Certificate, digest: RecordDigest) -> Iterator[str]:
    """Yield what differs in producers, outcomes and markers, if the certificate states them."""
    version, markers = certificate.states_version, certificate.counts.markers_kept
    if version not in {0, STATES_VERSION}:
        yield f"version {version} of its SHA-256 of states is unknown; use a newer Cordwood"
    if version != STATES_VERSION:
        return
    if digest.markers != markers:
        yield f"the log has {digest.markers} transaction markers (certificate: {markers})"
    if digest.states_sha256 != certificate.states_sha256:
        yield (
            "the SHA-256 of producers and outcomes of transactions differs "
            f"(certificate: {certificate.states_sha256})"
        )


def _key_differences(
    files: Files, path: str, certificate: Certificate, notes: list[str]
) -> Iterator[str]:
    """Yield what a verification of the cleaned range alone finds.

    Add a note if that is not possible, because no segment begins at its end.
    """
    partition = partition_of(path)
    if certificate.verified != _ALL_KEYS or partition is None:
        return
    with closing(open_reader(files, path)) as reader:
        seen = read_directory_facts(reader, partition=partition, config=LogConfig())
    options = PassOptions(until=certificate.end)
    plan = plan_directory(seen, assess(seen.facts, 0), now_ms=0, options=options)
    if plan is None or plan.end != certificate.end:
        notes.append(_UNCUT_KEYS)
        return
    with closing(DirectorySource(files, path)) as source:
        found = verify_alone(
            ReadOptions(source, _IO_BUFFER_BYTES, lambda _: None),
            plan,
            scope=KeyScope(certificate.seed),
            memory_bytes=_MEMORY_BYTES,
            judges=engine(plan.size).judges,
        )
    yield from map(str, found.violations)

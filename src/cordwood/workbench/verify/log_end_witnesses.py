"""Files of a partition that show where its log has ended before.

    .snapshot                 its name is an offset that the log had reached
    leader-epoch-checkpoint   a leader assigns an epoch at the end of its log, or below it

Brokers remove both from the end on when they truncate a log. So an offset beyond the end proves
that the log has lost its tail. After a crash the files may be ahead of records that were not
fsynced; then it is a note. The entries of indexes are compared in their own modules.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from cordwood.core.errors import DamagedFileError
from cordwood.core.ports import FileKind, Files
from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS, read_epoch_checkpoint
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.files.file_names import SNAPSHOT
from cordwood.storage.reader.path_resolution import partition_of
from cordwood.storage.reader.segment_listing import ListedSegment, snapshot_offsets
from cordwood.workbench.verify.checkpoint_checks import CheckpointReader, check_ends
from cordwood.workbench.verify.findings import LOST, Severity, VerifyFinding, damage, note

_CAUSE: Final = "the file shows that the log has lost its tail"


class LogEndWitnesses(NamedTuple):
    """Epochs, and the offsets of snapshots; records from `unsynced_from` on may be lost."""

    epochs: Sequence[EpochEntry] = ()
    snapshots: Sequence[int] = ()
    unsynced_from: int | None = None


def check_log_end(
    path: str, witnesses: LogEndWitnesses, *, log_end: int
) -> Iterator[VerifyFinding]:
    """Yield a finding for each file that contains an offset beyond the end of the log."""
    seen = {
        LEADER_EPOCHS: max((each.start_offset for each in witnesses.epochs), default=0),
        **{ListedSegment(each).name(SNAPSHOT): each for each in witnesses.snapshots},
    }
    for name, offset in seen.items():
        if offset > log_end:
            yield _finding(f"{path}/{name}", witnesses, log_end=log_end, offset=offset)


def find_lost_tail(files: Files, path: str, *, log_end: int) -> Iterator[VerifyFinding]:
    """Yield a finding for each file that shows offsets beyond the end of a partition's log.

    Checkpoints of the log directory count too. Damaged files show nothing.
    """
    ends = CheckpointReader(files).read(path, partition_of(path))
    try:
        epochs = read_epoch_checkpoint(files, f"{path}/{LEADER_EPOCHS}")
    except DamagedFileError:
        epochs = []
    snapshots = snapshot_offsets(files.list(path, FileKind.FILE))
    witnesses = LogEndWitnesses(epochs, snapshots, ends.unsynced_from)
    yield from check_log_end(path, witnesses, log_end=log_end)
    yield from (each for each in check_ends(path, ends, log_end=log_end) if each.end_offset)


def lost_tail_end(findings: Iterable[VerifyFinding], log_end: int) -> int:
    """Return the end that the log has had, by the findings that are damage."""
    shown = [each.end_offset or 0 for each in findings if each.severity is Severity.DAMAGE]
    return max([log_end, *shown])


def _finding(path: str, witnesses: LogEndWitnesses, *, log_end: int, offset: int) -> VerifyFinding:
    if witnesses.unsynced_from is not None and log_end >= witnesses.unsynced_from:
        remedy = "nothing to do: the broker had not fsynced these records"
        return note(path, _CAUSE, remedy=remedy, first_offset=log_end, end_offset=offset)
    return damage(path, _CAUSE, remedy=LOST, first_offset=log_end, end_offset=offset)

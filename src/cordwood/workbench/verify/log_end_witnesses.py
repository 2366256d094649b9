"""Files of a partition that show where its log has ended before.

    .snapshot                 its name is an offset that the log had reached
    leader-epoch-checkpoint   a leader assigns an epoch at the end of its log, or below it

Brokers remove both from the end on when they truncate a log. So an offset beyond the end proves
that the log has lost its tail. After a crash the files may be ahead of records that were not
fsynced; then it is a note. The entries of indexes are compared in their own modules.
"""

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cordwood.storage.checkpoints.checkpoint_files import LEADER_EPOCHS
from cordwood.storage.checkpoints.leader_epoch_cache import EpochEntry
from cordwood.storage.files.file_names import SNAPSHOT
from cordwood.storage.reader.segment_listing import ListedSegment
from cordwood.workbench.verify.findings import LOST, VerifyFinding, damage, note

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


def _finding(path: str, witnesses: LogEndWitnesses, *, log_end: int, offset: int) -> VerifyFinding:
    if witnesses.unsynced_from is not None and log_end >= witnesses.unsynced_from:
        remedy = "nothing to do: the broker had not fsynced these records"
        return note(path, _CAUSE, remedy=remedy, first_offset=log_end, end_offset=offset)
    return damage(path, _CAUSE, remedy=LOST, first_offset=log_end, end_offset=offset)

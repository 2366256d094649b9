"""Records of a leader, checked for the append to a follower's log (Kafka: `appendAsFollower`).

The offsets are those of the leader. They begin at the log end, or behind a gap if the leader's log
is compacted. Headers, checksums and the order are checked; the leader has checked the records.
"""

from typing import NamedTuple

from cordwood.core.binary import Buffer, bytes_view
from cordwood.core.errors import InvalidRecordError
from cordwood.records.batch_header import BatchHeader, read_header
from cordwood.records.legacy_batch import LegacyBatch
from cordwood.records.record_batch import MAGIC
from cordwood.storage.append_origin import AppendOrigin
from cordwood.storage.log.log_state import LogState
from cordwood.storage.validation.record_set_analysis import LogAppendInfo, analyze


class FollowerRecords(NamedTuple):
    """The valid batches of a record set, up to a later leader epoch than the follower's."""

    data: memoryview
    info: LogAppendInfo


class UnexpectedOffsetError(InvalidRecordError):
    """Records from a leader that begin below the follower's log end; it must truncate first.

    A follower with an empty log may restart it at `base_offset`, the first offset of the records,
    if these go on beyond the log end.
    """


def check(state: LogState, data: Buffer, *, leader_epoch: int) -> FollowerRecords:
    """Return the batches of a record set that can be appended now."""
    info = analyze(
        data,
        AppendOrigin.REPLICATION,
        max_message_bytes=state.config.max_message_bytes,
        leader_epoch=leader_epoch,
    )
    records = FollowerRecords(bytes_view(data)[: info.size], info)
    ensure_follows(state, records)
    return records


def ensure_follows(state: LogState, records: FollowerRecords) -> None:
    """Reject records whose offsets are not in order, among themselves or after the log end."""
    info, log_end = records.info, state.bounds.log_end
    if not info.is_monotonic:
        raise InvalidRecordError(
            "offsets out of order from a leader",
            base_offset=info.first_offset,
            expected="increasing last offsets",
            found=" ".join(str(header.last_offset) for header in info.headers),
        )
    if info.headers and info.first_offset < log_end:
        raise UnexpectedOffsetError(
            "records from a leader below the log end",
            base_offset=_first_offset(info.headers[0], records.data),
            expected=f"at least {log_end}",
            found=info.first_offset,
        )


def first_piece(records: memoryview, most_bytes: int) -> memoryview:
    """Return the first batches of a record set: at most `most_bytes`, but at least one batch.

    A segment may be smaller than the records that a leader sends at once.
    """
    if len(records) <= most_bytes:
        return records
    end = 0
    while (header := read_header(records, end)) is not None:
        if header.end > len(records) or (end and header.end > most_bytes):
            break
        end = header.end
    return records[:end] if end else records


def _first_offset(header: BatchHeader, data: memoryview) -> int:
    """Return the first offset of a batch; a legacy wrapper has it only in its first record."""
    if header.magic == MAGIC:
        return header.base_offset
    return next(iter(LegacyBatch(data, header.position).records())).offset

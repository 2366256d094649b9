"""Clean shutdown marker of a log directory (Kafka: `CleanShutdownFileHandler`).

    .kafka_cleanshutdown   {"version":0,"brokerEpoch":17}

The marker exists if the broker closed all logs of the directory: they need no recovery then. Its
content does not matter for that. The broker epoch (-1: unknown) is for the controller; brokers
before 3.7 did not write one.

The marker is written after everything else is on disk. It is removed before a log is opened, with
an fsync of the directory: a marker that came back after a crash would hide the damage.
"""

import json
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.storage.files.atomic_write import read_whole, write_synced

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH: Final = -1


class CleanShutdownFile(NamedTuple):
    """The content of the marker; None if it has no readable broker epoch."""

    broker_epoch: int | None


def write_clean_shutdown(
    files: Files, directory: str, *, broker_epoch: int = UNKNOWN_BROKER_EPOCH
) -> None:
    """Write the marker; all logs and checkpoints of the directory must be on disk."""
    content = {"version": 0, "brokerEpoch": broker_epoch}
    data = json.dumps(content, separators=(",", ":")).encode()
    write_synced(files, f"{directory}/{CLEAN_SHUTDOWN}", data=data)
    files.sync_directory(directory)


def read_clean_shutdown(files: Files, directory: str) -> CleanShutdownFile | None:
    """Return the content of the marker; None if there is no marker."""
    try:
        data = read_whole(files, f"{directory}/{CLEAN_SHUTDOWN}")
    except FileNotFoundError:
        return None
    return CleanShutdownFile(_broker_epoch_in(data))


def remove_clean_shutdown(files: Files, directory: str) -> CleanShutdownFile | None:
    """Remove the marker durably and return its content; None if there is no marker."""
    found = read_clean_shutdown(files, directory)
    if found is not None:
        files.remove(f"{directory}/{CLEAN_SHUTDOWN}")
        files.sync_directory(directory)
    return found


def _broker_epoch_in(data: bytes) -> int | None:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return None
    epoch = content.get("brokerEpoch") if isinstance(content, dict) else None
    return epoch if isinstance(epoch, int) and not isinstance(epoch, bool) else None

"""The file that says: this log directory was closed in order, so its logs need no recovery.

    .kafka_cleanshutdown   {"version":0,"brokerEpoch":17}

That it exists is all that counts; the broker epoch in it (-1 where unknown) is told to the
controller, and brokers before 3.7 wrote none. It is written when everything else is on disk, and
removed before a log is opened, durably: were it to come back, damage by a crash would go unseen.
"""

import json
from typing import Final, NamedTuple

from cordwood.core.ports import Files
from cordwood.storage.atomic import read_whole, write_synced

CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
UNKNOWN_BROKER_EPOCH: Final = -1


class CleanShutdown(NamedTuple):
    """What the file tells; None where it holds no broker epoch that can be read."""

    broker_epoch: int | None


def write_clean_shutdown(
    files: Files, directory: str, *, broker_epoch: int = UNKNOWN_BROKER_EPOCH
) -> None:
    """Mark a log directory whose logs and checkpoints are all on disk."""
    content = {"version": 0, "brokerEpoch": broker_epoch}
    data = json.dumps(content, separators=(",", ":")).encode()
    write_synced(files, f"{directory}/{CLEAN_SHUTDOWN}", data=data)
    files.sync_directory(directory)


def read_clean_shutdown(files: Files, directory: str) -> CleanShutdown | None:
    """Return what the mark tells, None where there is no mark."""
    try:
        data = read_whole(files, f"{directory}/{CLEAN_SHUTDOWN}")
    except FileNotFoundError:
        return None
    return CleanShutdown(_broker_epoch_in(data))


def take_clean_shutdown(files: Files, directory: str) -> CleanShutdown | None:
    """Return what the mark tells and remove it, so that from here on a crash is one."""
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

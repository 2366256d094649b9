"""Kinds of leftovers: files of a stopped cleaner, and snapshots without the newest ones."""

from collections.abc import Callable

from tests.damage.healthy_logs import checkpoint
from tests.damage.kinds import SNAPSHOT, Change, DamagedLog


def pending(*steps: tuple[str, str], change: Change | None = None) -> Change:
    """Return a change of the first segment into what a stopped cleaner has left of it.

    A step gives the file with an ending a suffix; "+.swap" adds a copy with the suffix, as if the
    pass had removed nothing. Then `change` is applied.
    """

    def both(log: DamagedLog) -> None:
        base = log.bases()[0]
        for ending, suffix in steps:
            name = log.name(base, ending)
            if name in log.files:
                log.files[name + suffix.removeprefix("+")] = log.files[name]
                if not suffix.startswith("+"):
                    del log.files[name]
        if change is not None:
            change(log)

    return both


def first_log(suffix: str, change: Callable[[bytes], bytes | None]) -> Change:
    """Return a change of the bytes of the first segment's log with a suffix; None removes it."""

    def changed(log: DamagedLog) -> None:
        name = min(name for name in log.files if name.endswith(f".log{suffix}"))
        data = change(log.files.pop(name))
        if data is not None:
            log.files[name] = data

    return changed


def newest_snapshots_gone(kept: int, log_start: int | None = None) -> Change:
    """Return a change that keeps the oldest snapshots, and may move the log start."""

    def changed(log: DamagedLog) -> None:
        names = sorted(name for name in log.files if name.endswith(SNAPSHOT))
        for name in names[kept:]:
            del log.files[name]
        if log_start is not None:
            log.beside["log-start-offset-checkpoint"] = checkpoint(log_start)

    return changed

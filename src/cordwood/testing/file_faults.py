"""Script of a file system's faults: calls that fail, tear, are slow, or are the last one."""

import errno
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cordwood.testing.virtual_clock import VirtualClock

#: Every call that faults may match.
CALLS = (
    *(
        "append",
        "create",
        "list",
        "lock",
        "make_directory",
        "make_private",
        "map",
        "open",
        "preallocate",
        "pread",
    ),
    *("pwrite", "remove", "remove_directory", "rename", "set_modified", "stat", "sync"),
    *("sync_directory", "truncate", "volume"),
)


class PowerLoss(BaseException):
    """The machine stops here. Not an Exception, so that no `except Exception` catches it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFault:
    """Fault of matching calls: it affects `times` of them, from the `first` one (1 is the next)."""

    on: str
    path: str = "*"
    first: int = 1
    times: int = 1
    code: int = errno.EIO
    kept: int = 0
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if not any(fnmatchcase(call, self.on) for call in CALLS):
            raise ValueError(f"unknown call {self.on!r}; the calls are {', '.join(CALLS)}")

    def matches(self, call: str, path: str) -> bool:
        """Return whether the fault applies to such a call; `on` and `path` are shell patterns."""
        return fnmatchcase(call, self.on) and fnmatchcase(path, self.path)

    def error(self, path: str) -> OSError:
        """Return the error of a failing call."""
        return OSError(self.code, os.strerror(self.code), path)


class ArmedFileFault:
    """A fault in a script, with the counts of its matching and of its affected calls."""

    __slots__ = ("fault", "matched", "met")

    def __init__(self, fault: FileFault) -> None:
        self.fault = fault
        self.matched = 0
        self.met = 0

    def is_met_by(self, call: str, path: str) -> bool:
        """Count a call, and return whether the fault affects it."""
        if not self.fault.matches(call, path):
            return False
        self.matched += 1
        is_met = self.fault.first <= self.matched < self.fault.first + self.fault.times
        self.met += is_met
        return is_met


class FaultScript:
    """Faults of one file system, and the counts of its calls."""

    def __init__(self, clock: VirtualClock) -> None:
        self.write_points = 0
        self.injected: dict[str, int] = {}
        self._clock = clock
        self._stop_after: int | None = None
        self._plan: list[ArmedFileFault] = []

    def add(self, fault: FileFault) -> ArmedFileFault:
        """Arm a fault; its count of matching calls starts now."""
        armed = ArmedFileFault(fault)
        self._plan.append(armed)
        return armed

    def remove(self, armed: ArmedFileFault) -> None:
        """Disarm a fault, if it is still armed."""
        self._plan = [each for each in self._plan if each is not armed]

    def stop_after(self, write_points: int) -> None:
        """Allow this many more changing calls; the next call of any kind raises PowerLoss."""
        self._stop_after = self.write_points + write_points

    def reset(self) -> None:
        """Disarm all faults; counts stay."""
        self._plan.clear()
        self._stop_after = None

    def begin(self, call: str, path: str, *, changes: bool = False) -> FileFault | None:
        """Count a call and apply its fault: raise, advance time, or return a torn write."""
        if self._stop_after is not None and self.write_points >= self._stop_after:
            raise PowerLoss
        self.write_points += changes
        torn = None
        for armed in self._plan:
            if armed.is_met_by(call, path):
                torn = self._apply(armed.fault, call, path) or torn
        return torn

    def _apply(self, fault: FileFault, call: str, path: str) -> FileFault | None:
        self.injected[call] = self.injected.get(call, 0) + 1
        if fault.delay_ms:
            self._clock.advance(ms=fault.delay_ms)
        if fault.code and not fault.kept:
            raise fault.error(path)
        return fault if fault.code else None

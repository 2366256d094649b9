"""The script of a file system's failures: which call fails, tears, lags, or is the last one."""

import errno
import os
from dataclasses import dataclass
from fnmatch import fnmatchcase

from cordwood.testing.clock import VirtualClock

#: Every call that meets the script.
CALLS = (
    *("append", "create", "list", "lock", "make_directory", "map", "open", "preallocate", "pread"),
    *("pwrite", "remove", "remove_directory", "rename", "set_modified", "stat", "sync"),
    *("sync_directory", "truncate", "volume"),
)


class PowerLoss(BaseException):
    """The machine stops here. Not an Exception: no `except` of the code under test sees it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """What happens to matching calls: `first` is the first one hit, from 1, `times` how many.

    With `code` 0 the call takes `delay_ms` of virtual time and succeeds. Of a write that fails, the
    first `kept` bytes are in the file all the same (a tear).
    """

    on: str
    path: str = "*"
    first: int = 1
    times: int = 1
    code: int = errno.EIO
    kept: int = 0
    delay_ms: int = 0

    def __post_init__(self) -> None:
        if not any(fnmatchcase(call, self.on) for call in CALLS):
            raise ValueError(f"no call is named {self.on!r}; the calls are {', '.join(CALLS)}")

    def matches(self, call: str, path: str) -> bool:
        """Say whether the fault speaks of such calls; `on` and `path` are shell patterns."""
        return fnmatchcase(call, self.on) and fnmatchcase(path, self.path)

    def error(self, path: str) -> OSError:
        """Return the error that the call ends in."""
        return OSError(self.code, os.strerror(self.code), path)


class PlannedFault:
    """A fault in a script, with how many calls have matched it and how many have met it."""

    __slots__ = ("fault", "matched", "met")

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.matched = 0
        self.met = 0

    def is_met_by(self, call: str, path: str) -> bool:
        """Count a call, and say whether it meets the fault."""
        if not self.fault.matches(call, path):
            return False
        self.matched += 1
        is_met = self.fault.first <= self.matched < self.fault.first + self.fault.times
        self.met += is_met
        return is_met


class FaultScript:
    """The faults planned for one file system, and the count of its calls."""

    def __init__(self, clock: VirtualClock) -> None:
        self.write_points = 0
        self.injected: dict[str, int] = {}
        self._clock = clock
        self._stop_after: int | None = None
        self._plan: list[PlannedFault] = []

    def add(self, fault: Fault) -> PlannedFault:
        """Plan a fault; its count of matching calls begins now."""
        planned = PlannedFault(fault)
        self._plan.append(planned)
        return planned

    def remove(self, planned: PlannedFault) -> None:
        """Let no call meet a fault any more, if it is planned still."""
        self._plan = [each for each in self._plan if each is not planned]

    def stop_after(self, write_points: int) -> None:
        """Let so many more changing calls through; the next call of any kind meets PowerLoss."""
        self._stop_after = self.write_points + write_points

    def reset(self) -> None:
        """Forget what was planned; counts stay."""
        self._plan.clear()
        self._stop_after = None

    def begin(self, call: str, path: str, *, changes: bool = False) -> Fault | None:
        """Count a call and let it meet its fault: raise, pass time, or return the tear to make."""
        if self._stop_after is not None and self.write_points >= self._stop_after:
            raise PowerLoss
        self.write_points += changes
        torn = None
        for planned in self._plan:
            if planned.is_met_by(call, path):
                torn = self._meet(planned.fault, call, path) or torn
        return torn

    def _meet(self, fault: Fault, call: str, path: str) -> Fault | None:
        self.injected[call] = self.injected.get(call, 0) + 1
        if fault.delay_ms:
            self._clock.advance(ms=fault.delay_ms)
        if fault.code and not fault.kept:
            raise fault.error(path)
        return fault if fault.code else None

"""The maintenance lease of one log: who may delete from it or rewrite it, and who may not.

    free  --take-->  retention | cleaning  --release-->  free
                         |
                  abort, pause           what is at work is asked to stop: it polls `is_revoked`
                         v
                      aborting  --release-->  paused, or free if nobody has paused it
    free  --pause-->  paused  --resume, by the last one that paused-->  free

Truncation, deletion and a change of the cleanup policy pause the lease, wait until nobody holds it,
do their work and resume. Pauses count: the log may be worked on again when all have resumed. A
lease is a value; each move returns the next one, or raises `LeaseError` when it cannot be made.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from cordwood.core.errors import CordwoodError


class LeaseError(CordwoodError, RuntimeError):
    """A move that the lease does not allow in its stage: check it before."""


class Stage(Enum):
    """What goes on."""

    FREE = "free"
    RETENTION = "retention"
    CLEANING = "cleaning"
    ABORTING = "aborting"
    PAUSED = "paused"


_WORKING: Final = frozenset({Stage.RETENTION, Stage.CLEANING})
_HELD: Final = _WORKING | {Stage.ABORTING}


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """Who holds it, and who has paused it. Made by `FREE` and its moves."""

    stage: Stage = Stage.FREE
    holder: str | None = None
    pausers: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = f" by {self.holder}" if self.holder else ""
        paused = f", paused by {', '.join(self.pausers)}" if self.pausers else ""
        return f"{self.stage.value}{by}{paused}"

    @property
    def is_free(self) -> bool:
        """Whether it may be taken."""
        return self.stage is Stage.FREE

    @property
    def is_held(self) -> bool:
        """Whether somebody is at work, asked to stop or not."""
        return self.stage in _HELD

    @property
    def is_revoked(self) -> bool:
        """Whether its holder has to stop."""
        return self.stage is Stage.ABORTING

    def take(self, stage: Stage, holder: str) -> "Lease":
        """Begin retention or cleaning."""
        may_take = self.is_free and stage in _WORKING
        self._ensure(may_take, move=f"be taken for {stage.value} by {holder}")
        return replace(self, stage=stage, holder=holder)

    def release(self, holder: str) -> "Lease":
        """End the work, done or not."""
        self._ensure(self.is_held and self.holder == holder, move=f"be released by {holder}")
        stage = Stage.PAUSED if self.pausers else Stage.FREE
        return replace(self, stage=stage, holder=None)

    def abort(self) -> "Lease":
        """Ask whoever is at work to stop; it may be taken again afterwards."""
        return replace(self, stage=Stage.ABORTING) if self.stage in _WORKING else self

    def pause(self, pauser: str) -> "Lease":
        """Ask whoever is at work to stop, and let nobody begin until this pauser has resumed."""
        stage = Stage.ABORTING if self.is_held else Stage.PAUSED
        return replace(self, stage=stage, pausers=(*self.pausers, pauser))

    def resume(self, pauser: str) -> "Lease":
        """Take one pause back. What has been asked to stop still stops."""
        self._ensure(pauser in self.pausers, move=f"be resumed by {pauser}")
        left = list(self.pausers)
        left.remove(pauser)
        is_over = self.stage is Stage.PAUSED and not left
        return replace(self, stage=Stage.FREE if is_over else self.stage, pausers=tuple(left))

    def _ensure(self, condition: object, *, move: str) -> None:
        if not condition:
            raise LeaseError(f"a lease that is {self} cannot {move}")


FREE: Final = Lease()

"""Maintenance lease of one log (Kafka: `LogCleaningState` of `LogCleanerManager`).

    free  --take-->  retention | cleaning  --release-->  free
                         |
                  abort, pause           the holder must stop: it polls `is_revoked`
                         v
                      aborting  --release-->  paused, or free without a pause
    free  --pause-->  paused  --resume, by the last pauser-->  free

The holder of the lease may delete segments of the log or rewrite them. Truncation, deletion and a
change of the cleanup policy pause the lease, wait until it is not held, do their work and resume.
Pauses are counted: the lease is free again when every pauser has resumed. A lease is an immutable
value; each transition returns the next value, or raises `LeaseError` if it is not allowed.
"""

from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from cordwood.core.errors import CordwoodError


class LeaseError(CordwoodError, RuntimeError):
    """A transition that the present stage does not allow; the caller must check it before."""


class LeaseStage(Enum):
    """The stage of a lease."""

    FREE = "free"
    RETENTION = "retention"
    CLEANING = "cleaning"
    ABORTING = "aborting"
    PAUSED = "paused"


_WORKING: Final = frozenset({LeaseStage.RETENTION, LeaseStage.CLEANING})
_HELD: Final = _WORKING | {LeaseStage.ABORTING}


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceLease:
    """The stage, the holder and the pausers of a lease; created from `FREE` by transitions."""

    stage: LeaseStage = LeaseStage.FREE
    holder: str | None = None
    pausers: tuple[str, ...] = ()

    def __str__(self) -> str:
        by = f" by {self.holder}" if self.holder else ""
        paused = f", paused by {', '.join(self.pausers)}" if self.pausers else ""
        return f"{self.stage.value}{by}{paused}"

    @property
    def is_free(self) -> bool:
        """Whether it may be taken."""
        return self.stage is LeaseStage.FREE

    @property
    def is_held(self) -> bool:
        """Whether it has a holder, revoked or not."""
        return self.stage in _HELD

    @property
    def is_revoked(self) -> bool:
        """Whether its holder must stop."""
        return self.stage is LeaseStage.ABORTING

    def take(self, stage: LeaseStage, holder: str) -> "MaintenanceLease":
        """Take the free lease for retention or cleaning."""
        may_take = self.is_free and stage in _WORKING
        self._ensure(may_take, move=f"be taken for {stage.value} by {holder}")
        return replace(self, stage=stage, holder=holder)

    def release(self, holder: str) -> "MaintenanceLease":
        """Give the lease back when the work has ended, complete or not."""
        self._ensure(self.is_held and self.holder == holder, move=f"be released by {holder}")
        stage = LeaseStage.PAUSED if self.pausers else LeaseStage.FREE
        return replace(self, stage=stage, holder=None)

    def abort(self) -> "MaintenanceLease":
        """Revoke the lease from its holder, if it has one; it may be taken again afterwards."""
        return replace(self, stage=LeaseStage.ABORTING) if self.stage in _WORKING else self

    def pause(self, pauser: str) -> "MaintenanceLease":
        """Revoke the lease, and prevent that it is taken before this pauser has resumed."""
        stage = LeaseStage.ABORTING if self.is_held else LeaseStage.PAUSED
        return replace(self, stage=stage, pausers=(*self.pausers, pauser))

    def resume(self, pauser: str) -> "MaintenanceLease":
        """Take one pause back; a revoked holder must still stop."""
        self._ensure(pauser in self.pausers, move=f"be resumed by {pauser}")
        left = list(self.pausers)
        left.remove(pauser)
        is_over = self.stage is LeaseStage.PAUSED and not left
        return replace(self, stage=LeaseStage.FREE if is_over else self.stage, pausers=tuple(left))

    def _ensure(self, condition: object, *, move: str) -> None:
        if not condition:
            raise LeaseError(f"a lease that is {self} cannot {move}")


FREE: Final = MaintenanceLease()

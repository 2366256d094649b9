"""Port from the controller to the broker in which it runs, and the values that it reports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from cordwood.cluster.controller.effects import FailedChange
from cordwood.cluster.zookeeper.store.metadata_event import (
    ConfigChanged,
    SessionConnected,
    SessionExpired,
    SessionSuspended,
)

BrokerEvent: TypeAlias = ConfigChanged | SessionConnected | SessionSuspended | SessionExpired
"""An event of the metadata that concerns every broker, also one that is not the controller."""


@dataclass(frozen=True, slots=True)
class RoleBegun:
    """This broker was elected."""

    epoch: int


@dataclass(frozen=True, slots=True)
class RoleEnded:
    """This broker is not the controller any more."""

    epoch: int
    reason: str


@dataclass(frozen=True, slots=True)
class ChangesFailed:
    """Changes of state that were not made."""

    failures: Sequence[FailedChange]


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request to a broker was not answered, and is repeated; or it was not sent at all."""

    broker_id: int
    request: str
    reason: str


@dataclass(frozen=True, slots=True)
class ProcessingFailed:
    """An event had no effect, or only a part of it, because of this error."""

    event: str
    error: Exception


ControllerReport: TypeAlias = (
    RoleBegun | RoleEnded | ChangesFailed | RequestFailed | ProcessingFailed
)


class ControllerHost(Protocol):
    """The broker; calls come on the loop, and must not block."""

    def is_unclean_election_enabled(self) -> bool:
        """Return `unclean.leader.election.enable` of the broker, for topics without their own."""

    def on_controller_changed(self, controller_id: int | None) -> None:
        """Take the id of the controller, None if there is none at present."""

    def on_event(self, event: BrokerEvent) -> None:
        """Take an event. After SessionExpired a new session begins by `ZooKeeperStore.start`."""

    def on_report(self, report: ControllerReport) -> None:
        """Log a report."""

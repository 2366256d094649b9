"""Settings of a broker that takes part in the elections of the controller."""

from dataclasses import dataclass

from cordwood.cluster.controller.context.cluster_context import ControllerSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ActiveControllerSettings:
    """The settings of the decisions, and those of their execution."""

    decisions: ControllerSettings
    #: auto.leader.rebalance.enable
    is_rebalance_enabled: bool = True
    #: leader.imbalance.check.interval.seconds
    rebalance_interval_ms: float = 300_000
    #: controller.socket.timeout.ms
    request_timeout_ms: float = 30_000

    @property
    def broker_id(self) -> int:
        """The id of this broker."""
        return self.decisions.controller_id

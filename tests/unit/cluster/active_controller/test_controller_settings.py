"""Tests of the settings of a broker that may become the controller."""

from cordwood.cluster.active_controller.controller_settings import ActiveControllerSettings
from cordwood.cluster.controller.context.cluster_context import ControllerSettings


def test_defaults_are_kafkas() -> None:
    settings = ActiveControllerSettings(decisions=ControllerSettings(controller_id=3))

    assert settings.broker_id == 3
    assert settings.is_rebalance_enabled
    assert (settings.rebalance_interval_ms, settings.request_timeout_ms) == (300_000, 30_000)

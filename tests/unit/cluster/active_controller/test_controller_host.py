"""Tests of the port from the controller to its broker."""

from cordwood.cluster.active_controller.controller_host import ControllerHost, RoleBegun
from tests.unit.cluster.active_controller.controller_world import ControllerWorld, Host


def test_broker_of_the_tests_is_a_host_of_the_port() -> None:
    world = ControllerWorld()
    with world.keeper.world.loop.running():
        broker = Host(world, 1)
        host: ControllerHost = broker
        host.on_report(RoleBegun(7))

    assert broker.roles == ["began 7"]

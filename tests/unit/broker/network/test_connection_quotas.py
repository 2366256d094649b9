"""Tests of connection quotas: in total, by listener and by address."""

from cordwood.broker.network.connection_quotas import ConnectionQuotas, SocketServerSettings


def limits(settings: SocketServerSettings) -> ConnectionQuotas:
    return ConnectionQuotas(lambda: settings)


def test_server_is_full_when_it_has_its_connections() -> None:
    counted = limits(SocketServerSettings(max_connections=2))

    counted.add("A", "1.1.1.1")
    has_room = counted.has_room("B")
    counted.add("A", "1.1.1.2")

    assert (has_room, counted.has_room("B")) == (True, False)


def test_listener_is_full_by_itself() -> None:
    counted = limits(SocketServerSettings(max_connections_of_listener={"A": 1}))

    counted.add("A", "1.1.1.1")

    assert (counted.has_room("A"), counted.has_room("B")) == (False, True)


def test_address_is_turned_away_when_it_has_its_share() -> None:
    counted = limits(SocketServerSettings(max_connections_per_ip=1))

    asked = [counted.add("A", address) for address in ("1.1.1.1", "1.1.1.1", "1.1.1.2")]

    assert (asked, counted.total) == ([True, False, True], 2)


def test_address_may_have_its_own_limit() -> None:
    counted = limits(SocketServerSettings(max_connections_per_ip_overrides={"1.1.1.1": 0}))

    assert not counted.add("A", "1.1.1.1")
    assert counted.add("A", "1.1.1.2")


def test_removed_connection_frees_its_slot() -> None:
    counted = limits(SocketServerSettings(max_connections=1, max_connections_per_ip=1))
    counted.add("A", "1.1.1.1")

    counted.remove("A", "1.1.1.1")

    assert counted.has_room("A")
    assert counted.add("A", "1.1.1.1")


def test_changed_settings_apply_immediately() -> None:
    settings = SocketServerSettings(max_connections=1)
    counted = ConnectionQuotas(lambda: settings)
    counted.add("A", "1.1.1.1")

    settings = SocketServerSettings(max_connections=2)

    assert counted.has_room("A")


def test_connections_are_limited_by_the_descriptors_of_the_process() -> None:
    quotas = ConnectionQuotas(lambda: SocketServerSettings(max_connections=5, capacity=1))

    before = (quotas.has_room("A"), quotas.is_at_capacity)
    quotas.add("A", "10.0.0.1")

    assert (before, quotas.has_room("A"), quotas.is_at_capacity) == ((True, False), False, True)

"""A broker is its parts."""

from tests.unit.broker.broker_samples import Hall


def test_broker_hands_out_the_parts_it_was_given() -> None:
    hall = Hall()

    hall.host()

    assert hall.broker.network.clock is hall.time
    assert hall.broker.partitions.get("orders", 0).log in hall.manager.all_logs()

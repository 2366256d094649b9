"""Leaderships: their epochs, and the loss of replicas."""

from cordwood.cluster.controller.context.leadership import NO_LEADER, Leadership

LED = Leadership(1, 4, (1, 2), partition_epoch=9, controller_epoch=3)


def test_first_leadership_is_led_by_the_first_replica_in_epoch_0() -> None:
    first = Leadership.first((2, 1), controller_epoch=5)

    assert first == Leadership(2, 0, (2, 1), controller_epoch=5)


def test_next_epoch_keeps_the_partition_epoch_for_the_conditional_write() -> None:
    assert LED.next_epoch(leader=2, isr=(2,)) == LED._replace(leader=2, leader_epoch=5, isr=(2,))


def test_next_epoch_keeps_a_recovering_leader_unless_told_otherwise() -> None:
    recovering = LED._replace(is_recovering=True)

    assert recovering.next_epoch(leader=1, isr=(1,)).is_recovering
    assert LED.next_epoch(leader=1, isr=(1,), is_recovering=True).is_recovering


def test_lost_follower_leaves_the_in_sync_set() -> None:
    assert LED.without(2) == LED._replace(leader_epoch=5, isr=(1,))


def test_lost_leader_leaves_the_partition_without_one() -> None:
    assert LED.without(1) == LED._replace(leader=NO_LEADER, leader_epoch=5, isr=(2,))


def test_last_in_sync_replica_stays_in_sync_when_it_is_lost() -> None:
    alone = LED._replace(isr=(1,))

    lost = alone.without(1)

    assert lost == alone._replace(leader=NO_LEADER, leader_epoch=5)
    assert lost.without(1) is lost


def test_loss_of_a_replica_that_is_not_in_sync_changes_nothing() -> None:
    assert LED.without(3) is LED

"""Errors of outdated state: refresh it first, then retry.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes. Those that are not retriable
need more than fresh metadata: a member rejoins, a fenced producer stops.
"""

from cordwood.core.errors.tree import OutdatedError


class UnknownTopicOrPartitionError(OutdatedError):
    """The broker does not host this partition, or the partition does not exist.

    Remedy: check the name of the topic, and create it if it does not exist.
    """

    code = 3
    retriable = True


class NotLeaderOrFollowerError(OutdatedError):
    """The broker is not the leader, or not a replica, of this partition."""

    code = 6
    retriable = True


class StaleControllerEpochError(OutdatedError):
    """The request comes from a controller that has been replaced."""

    code = 11


class NotCoordinatorError(OutdatedError):
    """The broker does not coordinate this group or transactional id."""

    code = 16
    retriable = True


class IllegalGenerationError(OutdatedError):
    """The group has moved on to another generation.

    Remedy: poll again: the consumer rejoins its group. Commit inside `on_revoked`, not after it.
    """

    code = 22


class UnknownMemberIdError(OutdatedError):
    """The member is not, or is no longer, a member of the group.

    Remedy: poll again: the consumer rejoins its group. Poll more often than `max_poll_interval_ms`.
    """

    code = 25


class RebalanceInProgressError(OutdatedError):
    """The group is rebalancing: the member has to rejoin.

    Remedy: poll again, so that the consumer rejoins its group; then commit.
    """

    code = 27


class NotControllerError(OutdatedError):
    """The broker is not the controller."""

    code = 41
    retriable = True


class InvalidProducerEpochError(OutdatedError):
    """The producer's epoch is older than the broker's.

    Remedy: create the producer again; a newer one with its transactional id has fenced it, or its
    transaction timed out.
    """

    code = 47


class TransactionCoordinatorFencedError(OutdatedError):
    """A newer transaction coordinator has taken over."""

    code = 52


class UnknownProducerIdError(OutdatedError):
    """The broker no longer has state for this producer id.

    Remedy: create the producer again; records were deleted faster than it wrote.
    """

    code = 59


class FetchSessionIdNotFoundError(OutdatedError):
    """The broker has evicted the fetch session."""

    code = 70
    retriable = True


class InvalidFetchSessionEpochError(OutdatedError):
    """The fetch session's epoch is not the one expected."""

    code = 71
    retriable = True


class FencedLeaderEpochError(OutdatedError):
    """The leader epoch in the request is older than the broker's."""

    code = 74
    retriable = True


class UnknownLeaderEpochError(OutdatedError):
    """The leader epoch in the request is newer than the broker's."""

    code = 75
    retriable = True


class StaleBrokerEpochError(OutdatedError):
    """The broker's own epoch is outdated: it has registered again since."""

    code = 77


class MemberIdRequiredError(OutdatedError):
    """The member has to rejoin with the member id in this response."""

    code = 79


class FencedInstanceIdError(OutdatedError):
    """Another member has taken over this static instance id.

    Remedy: give each member its own `group_instance_id`.
    """

    code = 82


class ProducerFencedError(OutdatedError):
    """A newer producer has taken over the transactional id.

    Remedy: close this producer: a newer one uses its `transactional_id`.
    """

    code = 90


class UnknownTopicIdError(OutdatedError):
    """The broker does not host this topic id."""

    code = 100
    retriable = True


class InconsistentTopicIdError(OutdatedError):
    """The topic was deleted and created again: its id differs from the request's."""

    code = 103
    retriable = True


class FetchSessionTopicIdError(OutdatedError):
    """The fetch session mixes topic ids and names."""

    code = 106
    retriable = True


class NewLeaderElectedError(OutdatedError):
    """The change was made, but the leader has changed with it."""

    code = 108


class FencedMemberEpochError(OutdatedError):
    """The coordinator has fenced the member's epoch: the member has to rejoin.

    Remedy: poll again: the consumer rejoins its group.
    """

    code = 110


class StaleMemberEpochError(OutdatedError):
    """The member's epoch is outdated; its next heartbeat brings the new one.

    Remedy: poll again, then commit.
    """

    code = 113


class UnknownSubscriptionIdError(OutdatedError):
    """The telemetry subscription is unknown or outdated."""

    code = 117


class ShareSessionNotFoundError(OutdatedError):
    """The broker has evicted the share session."""

    code = 122
    retriable = True


class InvalidShareSessionEpochError(OutdatedError):
    """The share session's epoch is not the one expected."""

    code = 123
    retriable = True


class FencedStateEpochError(OutdatedError):
    """The share group's state epoch does not match."""

    code = 124


class RebootstrapRequiredError(OutdatedError):
    """The client's broker list is outdated: it has to connect to its bootstrap servers again."""

    code = 129


class StreamsTopologyFencedError(OutdatedError):
    """The streams topology has been replaced by a newer one."""

    code = 132

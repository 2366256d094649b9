"""Errors of a broker or a cluster that cannot serve a valid request.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import ServerFaultError


class UnknownServerError(ServerFaultError):
    """An unexpected server error without a code of its own.

    Remedy: read the log of the broker.
    """

    code = -1


class LeaderNotAvailableError(ServerFaultError):
    """The partition has no leader at the moment.

    Remedy: wait for the election; if it does not end, start a broker that has a replica in sync.
    """

    code = 5
    retriable = True


class RequestTimedOutError(ServerFaultError):
    """The response did not arrive in time.

    Remedy: check that the broker runs and that the network reaches it, or raise the timeout in the
    text of the error.
    """

    code = 7
    retriable = True


class BrokerNotAvailableError(ServerFaultError):
    """The broker is not available.

    Remedy: start the broker.
    """

    code = 8


class ReplicaNotAvailableError(ServerFaultError):
    """The replica is not available."""

    code = 9
    retriable = True


class NetworkError(ServerFaultError):
    """The connection was lost before the response arrived.

    Remedy: check that the broker runs, and its `advertised.listeners`.
    """

    code = 13
    retriable = True


class CoordinatorLoadInProgressError(ServerFaultError):
    """The coordinator is still loading its state from the log."""

    code = 14
    retriable = True


class CoordinatorNotAvailableError(ServerFaultError):
    """The coordinator is not available at the moment.

    Remedy: wait; in a cluster check that the internal topics have a leader.
    """

    code = 15
    retriable = True


class NotEnoughReplicasError(ServerFaultError):
    """Too few replicas are in sync to accept a write.

    Remedy: start more brokers with replicas, or lower `min.insync.replicas` of the topic.
    """

    code = 19
    retriable = True


class NotEnoughReplicasAfterAppendError(ServerFaultError):
    """The write is in the leader's log, but too few replicas are in sync to acknowledge it.

    Remedy: start more brokers with replicas; a retry may write the records twice without
    idempotence.
    """

    code = 20
    retriable = True


class ConcurrentTransactionsError(ServerFaultError):
    """Another step of the same transaction has not finished yet."""

    code = 51
    retriable = True


class OperationNotAttemptedError(ServerFaultError):
    """The broker skipped this part of the request."""

    code = 55


class KafkaStorageError(ServerFaultError):
    """The disk under a log failed.

    Remedy: replace the disk or free space, then restart the broker.
    """

    code = 56
    retriable = True


class ListenerNotFoundError(ServerFaultError):
    """The leader has no listener with the name of the request's listener."""

    code = 72
    retriable = True


class OffsetNotAvailableError(ServerFaultError):
    """The new leader cannot return offsets yet."""

    code = 78
    retriable = True


class PreferredLeaderNotAvailableError(ServerFaultError):
    """The preferred leader cannot take over at the moment."""

    code = 80
    retriable = True


class EligibleLeadersNotAvailableError(ServerFaultError):
    """No replica is eligible to become leader.

    Remedy: start a broker with a replica in sync, or allow an unclean election.
    """

    code = 83
    retriable = True


class UnstableOffsetCommitError(ServerFaultError):
    """Offsets of an open transaction are pending.

    Remedy: call `init` of a producer with the transactional id, which aborts the transaction.
    """

    code = 88
    retriable = True


class ThrottlingQuotaExceededError(ServerFaultError):
    """A quota is exceeded: the request has to wait.

    Remedy: send fewer requests, or raise the quota.
    """

    code = 89
    retriable = True


class FeatureUpdateFailedError(ServerFaultError):
    """The cluster's features could not be changed."""

    code = 96


class PrincipalDeserializationFailureError(ServerFaultError):
    """The principal in a forwarded request could not be read."""

    code = 97


class ShareSessionLimitReachedError(ServerFaultError):
    """The broker has its maximum number of share sessions."""

    code = 133
    retriable = True

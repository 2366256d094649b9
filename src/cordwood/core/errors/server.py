"""Errors of a broker or a cluster that cannot serve a valid request.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import ServerFaultError


class UnknownServerError(ServerFaultError):
    """An unexpected server error without a code of its own."""

    code = -1


class LeaderNotAvailableError(ServerFaultError):
    """The partition has no leader at the moment."""

    code = 5
    retriable = True


class RequestTimedOutError(ServerFaultError):
    """The response did not arrive in time."""

    code = 7
    retriable = True


class BrokerNotAvailableError(ServerFaultError):
    """The broker is not available."""

    code = 8


class ReplicaNotAvailableError(ServerFaultError):
    """The replica is not available."""

    code = 9
    retriable = True


class NetworkError(ServerFaultError):
    """The connection was lost before the response arrived."""

    code = 13
    retriable = True


class CoordinatorLoadInProgressError(ServerFaultError):
    """The coordinator is still loading its state from the log."""

    code = 14
    retriable = True


class CoordinatorNotAvailableError(ServerFaultError):
    """The coordinator is not available at the moment."""

    code = 15
    retriable = True


class NotEnoughReplicasError(ServerFaultError):
    """Too few replicas are in sync to accept a write."""

    code = 19
    retriable = True


class NotEnoughReplicasAfterAppendError(ServerFaultError):
    """The write is in the leader's log, but too few replicas are in sync to acknowledge it."""

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
    """The disk under a log failed."""

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
    """No replica is eligible to become leader."""

    code = 83
    retriable = True


class UnstableOffsetCommitError(ServerFaultError):
    """Offsets of an open transaction are pending."""

    code = 88
    retriable = True


class ThrottlingQuotaExceededError(ServerFaultError):
    """A quota is exceeded: the request has to wait."""

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

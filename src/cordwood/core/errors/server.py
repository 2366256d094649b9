"""Errors of a broker or a cluster that cannot serve a request that is right.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import ServerFaultError


class UnknownServerError(ServerFaultError):
    """The server failed in a way it has no better word for."""

    code = -1


class LeaderNotAvailableError(ServerFaultError):
    """The partition has no leader at the moment."""

    code = 5
    retriable = True


class RequestTimedOutError(ServerFaultError):
    """The answer did not come in time."""

    code = 7
    retriable = True


class BrokerNotAvailableError(ServerFaultError):
    """The broker is not there to be asked."""

    code = 8


class ReplicaNotAvailableError(ServerFaultError):
    """The replica is not there to be asked."""

    code = 9
    retriable = True


class NetworkError(ServerFaultError):
    """The connection was lost before the answer came."""

    code = 13
    retriable = True


class CoordinatorLoadInProgressError(ServerFaultError):
    """The coordinator is still reading its state from the log."""

    code = 14
    retriable = True


class CoordinatorNotAvailableError(ServerFaultError):
    """There is no coordinator at the moment."""

    code = 15
    retriable = True


class NotEnoughReplicasError(ServerFaultError):
    """Too few replicas are in sync to accept a write."""

    code = 19
    retriable = True


class NotEnoughReplicasAfterAppendError(ServerFaultError):
    """The write is in the leader's log, but too few replicas are in sync to promise it."""

    code = 20
    retriable = True


class ConcurrentTransactionsError(ServerFaultError):
    """Another step of the same transaction has not finished yet."""

    code = 51
    retriable = True


class OperationNotAttemptedError(ServerFaultError):
    """The broker gave this part of the request up before trying it."""

    code = 55


class KafkaStorageError(ServerFaultError):
    """The disk under a log failed."""

    code = 56
    retriable = True


class ListenerNotFoundError(ServerFaultError):
    """The leader has no listener of the name the request came through."""

    code = 72
    retriable = True


class OffsetNotAvailableError(ServerFaultError):
    """A new leader cannot answer for its offsets yet."""

    code = 78
    retriable = True


class PreferredLeaderNotAvailableError(ServerFaultError):
    """The preferred leader cannot take over at the moment."""

    code = 80
    retriable = True


class EligibleLeadersNotAvailableError(ServerFaultError):
    """No replica is fit to become leader."""

    code = 83
    retriable = True


class UnstableOffsetCommitError(ServerFaultError):
    """Offsets of an open transaction stand in the way."""

    code = 88
    retriable = True


class ThrottlingQuotaExceededError(ServerFaultError):
    """A quota is used up: the request has to wait."""

    code = 89
    retriable = True


class FeatureUpdateFailedError(ServerFaultError):
    """The cluster's features could not be changed."""

    code = 96


class PrincipalDeserializationFailureError(ServerFaultError):
    """The principal in a forwarded request could not be read."""

    code = 97


class ShareSessionLimitReachedError(ServerFaultError):
    """The broker holds as many share sessions as it may."""

    code = 133
    retriable = True

"""Errors of an invalid request: it fails again until it is changed.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import ClientFaultError


class OffsetOutOfRangeError(ClientFaultError):
    """The offset is below the log start offset or above the log end offset."""

    code = 1


class InvalidFetchSizeError(ClientFaultError):
    """The requested fetch size is not allowed."""

    code = 4


class MessageTooLargeError(ClientFaultError):
    """A batch is larger than the topic or the broker allows."""

    code = 10


class OffsetMetadataTooLargeError(ClientFaultError):
    """The metadata string of a committed offset is too long."""

    code = 12


class InvalidTopicError(ClientFaultError):
    """The topic's name is illegal, or the topic may not be used this way."""

    code = 17


class RecordListTooLargeError(ClientFaultError):
    """A set of batches is larger than a whole segment may be."""

    code = 18


class InvalidRequiredAcksError(ClientFaultError):
    """The required acks value of a produce request is invalid."""

    code = 21


class InconsistentGroupProtocolError(ClientFaultError):
    """The member and its group share no protocol."""

    code = 23


class InvalidGroupIdError(ClientFaultError):
    """The group's id is empty or illegal."""

    code = 24


class InvalidSessionTimeoutError(ClientFaultError):
    """The session timeout is outside the range that the broker allows."""

    code = 26


class InvalidCommitOffsetSizeError(ClientFaultError):
    """The commit is too large for the offsets topic."""

    code = 28


class InvalidTimestampError(ClientFaultError):
    """A record's timestamp is too far from the broker's clock."""

    code = 32


class UnsupportedVersionError(ClientFaultError):
    """The broker does not support this version of the request."""

    code = 35


class TopicAlreadyExistsError(ClientFaultError):
    """A topic of this name already exists."""

    code = 36


class InvalidPartitionsError(ClientFaultError):
    """The number of partitions is not allowed."""

    code = 37


class InvalidReplicationFactorError(ClientFaultError):
    """The replication factor is below one or above the number of brokers."""

    code = 38


class InvalidReplicaAssignmentError(ClientFaultError):
    """The replicas named for a partition cannot be used."""

    code = 39


class InvalidConfigError(ClientFaultError):
    """A setting has a value that is not allowed."""

    code = 40


class InvalidRequestError(ClientFaultError):
    """The request contradicts itself or lacks what it needs."""

    code = 42


class UnsupportedForMessageFormatError(ClientFaultError):
    """The record format in use does not support the requested operation."""

    code = 43


class PolicyViolationError(ClientFaultError):
    """A policy of the cluster forbids the request."""

    code = 44


class OutOfOrderSequenceNumberError(ClientFaultError):
    """A producer's sequence number left a gap."""

    code = 45


class DuplicateSequenceNumberError(ClientFaultError):
    """A producer's sequence number was already written."""

    code = 46


class InvalidTxnStateError(ClientFaultError):
    """The transaction is in a state that does not allow this step."""

    code = 48


class InvalidProducerIdMappingError(ClientFaultError):
    """The producer id does not belong to the transactional id."""

    code = 49


class InvalidTransactionTimeoutError(ClientFaultError):
    """The transaction timeout is longer than the broker allows."""

    code = 50


class LogDirNotFoundError(ClientFaultError):
    """The broker has no log directory of this name."""

    code = 57


class ReassignmentInProgressError(ClientFaultError):
    """A reassignment of the partition is already in progress."""

    code = 60


class InvalidPrincipalTypeError(ClientFaultError):
    """The kind of principal is not supported."""

    code = 67


class NonEmptyGroupError(ClientFaultError):
    """The group still has members."""

    code = 68


class GroupIdNotFoundError(ClientFaultError):
    """The group id does not exist."""

    code = 69


class UnsupportedCompressionTypeError(ClientFaultError):
    """The codec cannot be used with this version or format."""

    code = 76


class GroupMaxSizeReachedError(ClientFaultError):
    """The group has its maximum number of members."""

    code = 81


class ElectionNotNeededError(ClientFaultError):
    """The partition already has the leader it should have."""

    code = 84
    retriable = True


class NoReassignmentInProgressError(ClientFaultError):
    """The partition is not being reassigned."""

    code = 85


class GroupSubscribedToTopicError(ClientFaultError):
    """The group is still subscribed to the topic whose offsets were to be deleted."""

    code = 86


class ResourceNotFoundError(ClientFaultError):
    """The request names something that does not exist."""

    code = 91


class DuplicateResourceError(ClientFaultError):
    """The request names the same thing twice."""

    code = 92


class InconsistentVoterSetError(ClientFaultError):
    """The sender or the receiver of the request is not a voter."""

    code = 94


class InvalidUpdateVersionError(ClientFaultError):
    """The version of an update is not the next one."""

    code = 95


class SnapshotNotFoundError(ClientFaultError):
    """The snapshot id does not exist."""

    code = 98


class PositionOutOfRangeError(ClientFaultError):
    """The position is outside the snapshot."""

    code = 99


class DuplicateBrokerRegistrationError(ClientFaultError):
    """Another broker is already registered under this id."""

    code = 101


class BrokerIdNotRegisteredError(ClientFaultError):
    """No broker is registered under this id."""

    code = 102


class InconsistentClusterIdError(ClientFaultError):
    """The request is meant for another cluster."""

    code = 104


class TransactionalIdNotFoundError(ClientFaultError):
    """The transactional id does not exist."""

    code = 105


class IneligibleReplicaError(ClientFaultError):
    """A replica proposed for the in-sync set may not be in it."""

    code = 107


class OffsetMovedToTieredStorageError(ClientFaultError):
    """The offset is no longer on the broker's disk, only in tiered storage."""

    code = 109


class UnreleasedInstanceIdError(ClientFaultError):
    """The instance id still belongs to another member."""

    code = 111


class UnsupportedAssignorError(ClientFaultError):
    """The group does not support this assignor or its version."""

    code = 112


class MismatchedEndpointTypeError(ClientFaultError):
    """The request went to the wrong kind of endpoint."""

    code = 114


class UnsupportedEndpointTypeError(ClientFaultError):
    """This kind of endpoint is not supported."""

    code = 115


class UnknownControllerIdError(ClientFaultError):
    """The controller id does not exist."""

    code = 116


class TelemetryTooLargeError(ClientFaultError):
    """A push of telemetry is larger than the broker allows."""

    code = 118


class InvalidRegistrationError(ClientFaultError):
    """The controller rejects the broker's registration."""

    code = 119


class TransactionAbortableError(ClientFaultError):
    """The transaction has failed and can only be aborted; its id stays usable."""

    code = 120


class InvalidRecordStateError(ClientFaultError):
    """The record is not in a state that can be acknowledged."""

    code = 121


class InvalidVoterKeyError(ClientFaultError):
    """The voter's key is not the one of the replica that received the request."""

    code = 125


class DuplicateVoterError(ClientFaultError):
    """The voter is already one of the voters."""

    code = 126


class VoterNotFoundError(ClientFaultError):
    """The voter is not one of the voters."""

    code = 127


class InvalidRegularExpressionError(ClientFaultError):
    """The regular expression cannot be read."""

    code = 128


class StreamsInvalidTopologyError(ClientFaultError):
    """The topology of a streams group cannot be used."""

    code = 130


class StreamsInvalidTopologyEpochError(ClientFaultError):
    """The epoch of a streams topology cannot be used."""

    code = 131

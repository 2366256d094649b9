"""Errors of an invalid request: it fails again until it is changed.

One leaf per wire code of Apache Kafka 4.3, in the order of the codes.
"""

from cordwood.core.errors.tree import ClientFaultError


class OffsetOutOfRangeError(ClientFaultError):
    """The offset is below the log start offset or above the log end offset.

    Remedy: seek to an offset of the log, or set `auto_offset_reset`.
    """

    code = 1


class InvalidFetchSizeError(ClientFaultError):
    """The requested fetch size is not allowed."""

    code = 4


class MessageTooLargeError(ClientFaultError):
    """A batch is larger than the topic or the broker allows.

    Remedy: send smaller records, or raise `max_request_size` of the producer and
    `max.message.bytes` of the topic.
    """

    code = 10


class OffsetMetadataTooLargeError(ClientFaultError):
    """The metadata string of a committed offset is too long.

    Remedy: shorten the metadata, or raise `offset.metadata.max.bytes` of the broker.
    """

    code = 12


class InvalidTopicError(ClientFaultError):
    """The topic's name is illegal, or the topic may not be used this way.

    Remedy: use letters, digits, `.`, `_` and `-`, at most 249 characters, and no internal topic.
    """

    code = 17


class RecordListTooLargeError(ClientFaultError):
    """A set of batches is larger than a whole segment may be.

    Remedy: lower `batch_size`, or raise `segment.bytes` of the topic.
    """

    code = 18


class InvalidRequiredAcksError(ClientFaultError):
    """The required acks value of a produce request is invalid.

    Remedy: set `acks` to 0, 1 or all.
    """

    code = 21


class InconsistentGroupProtocolError(ClientFaultError):
    """The member and its group share no protocol.

    Remedy: give all members of the group an assignor in common in `partition_assignment_strategy`.
    """

    code = 23


class InvalidGroupIdError(ClientFaultError):
    """The group's id is empty or illegal.

    Remedy: give the consumer a `group_id`.
    """

    code = 24


class InvalidSessionTimeoutError(ClientFaultError):
    """The session timeout is outside the range that the broker allows.

    Remedy: set `session_timeout_ms` between `group.min.session.timeout.ms` and
    `group.max.session.timeout.ms` of the broker.
    """

    code = 26


class InvalidCommitOffsetSizeError(ClientFaultError):
    """The commit is too large for the offsets topic."""

    code = 28


class InvalidTimestampError(ClientFaultError):
    """A record's timestamp is too far from the broker's clock.

    Remedy: correct the clock of the producer, or raise `message.timestamp.before.max.ms` or
    `message.timestamp.after.max.ms` of the topic.
    """

    code = 32


class UnsupportedVersionError(ClientFaultError):
    """The broker does not support this version of the request.

    Remedy: upgrade the broker, or do without the feature.
    """

    code = 35


class TopicAlreadyExistsError(ClientFaultError):
    """A topic of this name already exists.

    Remedy: use another name, or the existing topic.
    """

    code = 36


class InvalidPartitionsError(ClientFaultError):
    """The number of partitions is not allowed.

    Remedy: give a number above the present number of partitions, and above 0.
    """

    code = 37


class InvalidReplicationFactorError(ClientFaultError):
    """The replication factor is below one or above the number of brokers.

    Remedy: give a factor of at most the number of brokers.
    """

    code = 38


class InvalidReplicaAssignmentError(ClientFaultError):
    """The replicas named for a partition cannot be used.

    Remedy: name registered brokers, each one once per partition.
    """

    code = 39


class InvalidConfigError(ClientFaultError):
    """A setting has a value that is not allowed.

    Remedy: correct the setting that the text of the error names.
    """

    code = 40


class InvalidRequestError(ClientFaultError):
    """The request contradicts itself or lacks what it needs.

    Remedy: correct the call as the text of the error states.
    """

    code = 42


class UnsupportedForMessageFormatError(ClientFaultError):
    """The record format in use does not support the requested operation."""

    code = 43


class PolicyViolationError(ClientFaultError):
    """A policy of the cluster forbids the request.

    Remedy: change the request so that it satisfies the policy of the cluster.
    """

    code = 44


class OutOfOrderSequenceNumberError(ClientFaultError):
    """A producer's sequence number left a gap.

    Remedy: create the producer again; with a transaction, abort it first.
    """

    code = 45


class DuplicateSequenceNumberError(ClientFaultError):
    """A producer's sequence number was already written.

    Remedy: none: the records are in the log already.
    """

    code = 46


class InvalidTxnStateError(ClientFaultError):
    """The transaction is in a state that does not allow this step.

    Remedy: call `begin`, `commit` and `abort` in order; after a fatal error create the producer
    again.
    """

    code = 48


class InvalidProducerIdMappingError(ClientFaultError):
    """The producer id does not belong to the transactional id.

    Remedy: create the producer again: its transactional id has expired
    (`transactional.id.expiration.ms`).
    """

    code = 49


class InvalidTransactionTimeoutError(ClientFaultError):
    """The transaction timeout is longer than the broker allows.

    Remedy: set `transaction_timeout_ms` to at most `transaction.max.timeout.ms` of the broker.
    """

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
    """The group still has members.

    Remedy: stop the members of the group first.
    """

    code = 68


class GroupIdNotFoundError(ClientFaultError):
    """The group id does not exist.

    Remedy: list the groups with `cordwood groups list`.
    """

    code = 69


class UnsupportedCompressionTypeError(ClientFaultError):
    """The codec cannot be used with this version or format.

    Remedy: choose another `compression_type`.
    """

    code = 76


class GroupMaxSizeReachedError(ClientFaultError):
    """The group has its maximum number of members.

    Remedy: run fewer members, or raise `group.max.size` of the broker.
    """

    code = 81


class ElectionNotNeededError(ClientFaultError):
    """The partition already has the leader it should have.

    Remedy: none: the partition has the leader that it should have.
    """

    code = 84
    retriable = True


class NoReassignmentInProgressError(ClientFaultError):
    """The partition is not being reassigned."""

    code = 85


class GroupSubscribedToTopicError(ClientFaultError):
    """The group is still subscribed to the topic whose offsets were to be deleted.

    Remedy: stop the members that subscribe to the topic first.
    """

    code = 86


class ResourceNotFoundError(ClientFaultError):
    """The request names something that does not exist."""

    code = 91


class DuplicateResourceError(ClientFaultError):
    """The request names the same thing twice.

    Remedy: name each resource once.
    """

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
    """The transactional id does not exist.

    Remedy: list the ids with `cordwood transactions list`.
    """

    code = 105


class IneligibleReplicaError(ClientFaultError):
    """A replica proposed for the in-sync set may not be in it."""

    code = 107


class OffsetMovedToTieredStorageError(ClientFaultError):
    """The offset is no longer on the broker's disk, only in tiered storage."""

    code = 109


class UnreleasedInstanceIdError(ClientFaultError):
    """The instance id still belongs to another member.

    Remedy: stop the other member with this `group_instance_id`, or use another id.
    """

    code = 111


class UnsupportedAssignorError(ClientFaultError):
    """The group does not support this assignor or its version.

    Remedy: choose an assignor of the broker in `group_remote_assignor`.
    """

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
    """The transaction has failed and can only be aborted; its id stays usable.

    Remedy: call `abort`, and repeat the transaction.
    """

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
    """The regular expression cannot be read.

    Remedy: correct the pattern; with `group_protocol=consumer` it is one of RE2.
    """

    code = 128


class StreamsInvalidTopologyError(ClientFaultError):
    """The topology of a streams group cannot be used."""

    code = 130


class StreamsInvalidTopologyEpochError(ClientFaultError):
    """The epoch of a streams topology cannot be used."""

    code = 131

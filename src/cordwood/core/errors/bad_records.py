"""Errors of record bytes: what a producer sent, or what a disk gave back, cannot be accepted.

Both leaves name the place: position, base offset, what was expected and what was found.
"""

from cordwood.core.errors.tree import BadRecordsError


class CorruptMessageError(BadRecordsError):
    """The bytes of a batch are damaged: a checksum, a length or a field cannot be right."""

    code = 2
    retriable = True


class InvalidRecordError(BadRecordsError):
    """A record was read well and still breaks a rule of the topic."""

    code = 87

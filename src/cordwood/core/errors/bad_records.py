"""Errors of record bytes that a producer sent or a disk returned.

Both leaves name the position, the base offset, the expected and the found value.
"""

from cordwood.core.errors.tree import BadRecordsError


class CorruptMessageError(BadRecordsError):
    """The bytes of a batch are damaged: a checksum, a length or a field is wrong."""

    code = 2
    retriable = True


class InvalidRecordError(BadRecordsError):
    """A record is readable and breaks a rule of the topic."""

    code = 87

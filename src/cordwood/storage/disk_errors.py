"""What an error of the operating system is about: this moment, one name, or the disk.

    passing   too little space, too few descriptors: a while later the same call may succeed
    a name    is too long, or is that of something else than a log has there
    the disk  everything else: nothing on it can be relied on any more

Only the last is a reason to take a log directory out of use, unless a change was left half done.
"""

import errno
from typing import Final

NO_DESCRIPTORS: Final = frozenset({errno.EMFILE, errno.ENFILE})
NO_ROOM: Final = frozenset({errno.ENOSPC, errno.EDQUOT})
#: Too little of something, for the moment.
PASSING: Final = NO_DESCRIPTORS | NO_ROOM

_SOMETHING_ELSE: Final = "something else has the name of a log's file or directory: move it away"
_OF_A_NAME: Final = {
    errno.ENAMETOOLONG: "the file system takes no names of this length: choose a shorter topic",
    errno.EEXIST: _SOMETHING_ELSE,
    errno.EISDIR: _SOMETHING_ELSE,
    errno.ELOOP: _SOMETHING_ELSE,
    errno.ENOTDIR: _SOMETHING_ELSE,
    errno.ENXIO: _SOMETHING_ELSE,
    errno.ESPIPE: _SOMETHING_ELSE,
}


def is_of_disk(error: BaseException) -> bool:
    """Whether the disk has failed."""
    return isinstance(error, OSError) and error.errno not in PASSING and not is_of_a_name(error)


def is_of_a_name(error: BaseException) -> bool:
    """Whether only the path that the call was about cannot be used."""
    return isinstance(error, OSError) and error.errno in _OF_A_NAME


def described(error: BaseException) -> str:
    """Return the error's own words, and what to do where that is known."""
    if isinstance(error, OSError) and error.errno in _OF_A_NAME:
        return f"{error}; {_OF_A_NAME[error.errno]}"
    return str(error) or type(error).__name__

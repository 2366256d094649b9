"""Local paths: the paths and addresses in options that name a file or folder of this machine.

    kafka-logs, /mnt/kafka-logs            a path
    file:/mnt/kafka-logs, file:///mnt/…    the address of a path
    s3a://bucket/logs, hdfs:/logs          an address elsewhere, which Python cannot open

Spark accepts all of them, for a checkpoint too.
"""

import re
from pathlib import Path
from typing import Final

from cordwood.core.errors import SettingError

_ADDRESS: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")
_FILE: Final = re.compile(r"file:(?://(?=/))?")


def is_address(text: str) -> bool:
    """Return whether a text is an address, such as `s3a://bucket/logs` or `file:/logs`."""
    return _ADDRESS.match(text) is not None


def find_local_path(text: str) -> str | None:
    """Return a path, or the path of an address with `file:`; None for an address elsewhere."""
    local = _FILE.match(text)
    if local is not None:
        return text[local.end() :]
    return None if is_address(text) else text


def local_path(text: str, *, key: str) -> str:
    """Return a path, or an address that begins with `file:`, as an absolute path.

    Raise SettingError for the address of an object store; `key` is the option.
    """
    path = find_local_path(text)
    if path is None:
        raise SettingError(
            f"{key}: {text} is not a local path", key=key, remedy="mount it and give the mount path"
        )
    return str(Path(path).absolute())

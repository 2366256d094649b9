"""Paths as users of Spark write them, and as tasks are told them: whole, and of a disk.

Tasks work in other folders than the driver, and a store that is no disk would be taken for a folder
of that name.
"""

import re
from pathlib import Path

from cordwood.core.errors import SettingError

_ELSEWHERE = re.compile(r"(?!file:)[A-Za-z][A-Za-z0-9+.-]*://")


def local_path(text: str, *, key: str) -> str:
    """Return a path, or an address that begins with `file:`, as a whole path.

    SettingError is raised for the address of a store that is no disk; `key` is the option.
    """
    if _ELSEWHERE.match(text):
        raise SettingError(
            f"{text} is on no disk", key=key, remedy="mount it, and give the path where it is"
        )
    path = re.sub(r"^//(?=/)", "", text.removeprefix("file:")) if text[:5] == "file:" else text
    return str(Path(path).absolute())

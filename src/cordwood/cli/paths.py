"""From what was typed to a path: absolute, and through no link that was not meant.

The name that was given stays, be it a link's: it says which partition this is, and its checkpoints
lie beside it.
"""

from pathlib import Path

from cordwood.core.errors import SettingError


def absolute(typed: str) -> str:
    """Return the path; an empty one is what a variable leaves that was not set."""
    if not typed:
        raise SettingError("an empty path is no place", key="path", remedy="name one")
    path = Path(typed)
    return str(path.resolve() if ".." in path.parts else path.absolute())

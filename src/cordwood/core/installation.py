"""Commands that install the packages of an extra; Cordwood itself is on no package index."""

import re


def install_command(package: str) -> str:
    """Return the command that installs a package in the version that Cordwood needs."""
    from importlib.metadata import PackageNotFoundError, requires  # noqa: PLC0415  # 10 ms

    try:
        known = requires("cordwood") or []
    except PackageNotFoundError:
        known = []
    wanted = (each.partition(";")[0].strip() for each in known)
    name = re.compile(rf"{re.escape(package)}(?![\w.-])", re.IGNORECASE)
    found = next((each for each in wanted if name.match(each)), package)
    return f"pip install '{found}'"

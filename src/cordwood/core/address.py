"""Network address: a host and a port, written `host:port`; a host with colons is in brackets."""

from typing import NamedTuple

from cordwood.core.errors import SettingError

_PORTS = 1 << 16


class Address(NamedTuple):
    """Remote or listening end of a connection."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return the text that `parse` reads."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, *, key: str, lowest_port: int = 1) -> "Address":
        """Return the address in a setting; SettingError if it is invalid."""
        host, _, port = text.rpartition(":")
        is_port = port.isdecimal() and lowest_port <= int(port) < _PORTS
        if not is_port or not _is_host(host):
            raise SettingError(
                f"{key}: invalid address {text!r}",
                key=key,
                remedy="give host:port, such as 127.0.0.1:9092",
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))


def _is_host(host: str) -> bool:
    """Return whether a name can be looked up: each of its labels has 1 to 63 characters."""
    try:
        return bool(host.encode("idna"))
    except UnicodeError:
        return False

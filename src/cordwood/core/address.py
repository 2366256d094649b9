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
        if not host or not port.isdecimal() or not lowest_port <= int(port) < _PORTS:
            raise SettingError(
                f"{key}: invalid address {text!r}",
                key=key,
                remedy="give host:port, such as 127.0.0.1:9092",
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

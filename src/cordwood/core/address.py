"""A host and a port, in one way of writing: `host:port`, a host with colons in brackets."""

from typing import NamedTuple

from cordwood.core.errors import SettingError

_PORTS = 1 << 16


class Address(NamedTuple):
    """One end of a connection, or where somebody listens."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return what `parse` reads."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str, *, key: str, lowest_port: int = 1) -> "Address":
        """Return the address that a setting names; SettingError if it is none."""
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not lowest_port <= int(port) < _PORTS:
            raise SettingError(
                f"{key} has {text!r}, which is no address",
                key=key,
                remedy="give host:port, 127.0.0.1:9092 say",
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

"""Where a broker listens."""

from typing import NamedTuple

from cordwood.core.errors import SettingError


class Address(NamedTuple):
    """A host and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        """Return what `parse` reads."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Return the address in `host:port`; a host with colons stands in brackets."""
        host, _, port = text.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise SettingError(
                f"{text!r} is no address of a broker",
                key="bootstrap.servers",
                remedy="name it as host:port, 127.0.0.1:9092 say",
            )
        return cls(host.removeprefix("[").removesuffix("]"), int(port))

"""Processors and systems that kernels are compiled for, and the levels of each processor."""

import platform
import sys
import sysconfig
from typing import Final, NamedTuple

_ARMS: Final = frozenset({"aarch64", "arm64"})


class Level(NamedTuple):
    """One level of a processor: its name in the library, and LLVM's names for it."""

    name: str
    cpu: str
    features: str = ""

    @property
    def prefix(self) -> str:
        """Return the start of the symbols of this level."""
        return self.name.replace("-", "_") + "_"


#: The exit status where no library can be made, so that plain Python is all there is.
UNKNOWN_PROCESSOR: Final = 3

#: The levels of each processor, the lowest first. Every library has all levels of its processor.
LEVELS: Final = {
    "x86_64": (Level("x86-64-v2", "x86-64-v2"), Level("x86-64-v3", "x86-64-v3")),
    "aarch64": (Level("armv8", "generic", "+crc"),),
}


class Target(NamedTuple):
    """A processor and a system; without names those of this machine."""

    processor: str
    system: str = ""

    @property
    def is_foreign(self) -> bool:
        """Return whether the target was named, so that a cross compiler is needed."""
        return bool(self.system)

    @property
    def levels(self) -> tuple[Level, ...]:
        """Return the levels that a library for this target has."""
        return LEVELS[self.processor]

    @property
    def zig_name(self) -> str:
        """Return the name of the target for `zig cc`."""
        return f"{self.processor}-{self.system}"

    @property
    def triple(self) -> str:
        """Return the name of the target for LLVM; empty for this machine."""
        if not self.system:
            return ""
        if self.system.startswith("macos"):
            return f"{self.processor.replace('aarch64', 'arm64')}-apple-macosx11.0"
        return f"{self.processor}-unknown-{self.system.split('.')[0]}"

    @property
    def wheel_platform(self) -> str:
        """Return the platform of wheels for the target (`manylinux_2_17_x86_64`)."""
        if self.system.startswith("macos"):
            return f"macosx_11_0_{self.processor.replace('aarch64', 'arm64')}"
        if self.system.startswith("linux-gnu."):
            release = self.system.removeprefix("linux-gnu.").replace(".", "_")
            return f"manylinux_{release}_{self.processor}"
        if self.system:
            return f"musllinux_1_2_{self.processor}"
        own = sysconfig.get_platform().replace("universal2", platform.machine())
        return own.replace("-", "_").replace(".", "_")

    @property
    def is_mac(self) -> bool:
        """Return whether the library is for macOS."""
        return self.system.startswith("macos") if self.system else sys.platform == "darwin"


def this_processor() -> str:
    """Return the name of this machine's processor; one outside LEVELS has no kernels."""
    machine = platform.machine().lower()
    found = "aarch64" if machine in _ARMS else machine.replace("amd64", "x86_64")
    if found not in LEVELS:
        print(f"kernels: no levels are known for the processor {machine}", file=sys.stderr)
        raise SystemExit(UNKNOWN_PROCESSOR)
    return found


def target_named(name: str) -> Target:
    """Return a target by its name for zig (`aarch64-linux-gnu.2.17`); without one, this machine."""
    if not name:
        return Target(this_processor())
    processor, _, system = name.partition("-")
    if processor not in LEVELS or not system:
        raise SystemExit(f"kernels: {name} is not a target; one is x86_64-linux-gnu.2.17")
    return Target(processor, system)

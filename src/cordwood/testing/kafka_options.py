"""Options of a test's broker, and their check where a test gives them by name."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from difflib import get_close_matches
from typing import Final

from cordwood.core.settings import SettingValue

_PLACES: Final = ("memory", "disk")


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaOptions:
    """Options of a test's broker.

    Args:
        auto_create: Whether clients may create topics by using them.
        config: Settings of the broker by Kafka's names (docs/configuration.md).
        files: "memory", or "disk" for a temporary folder.
        directory: The place of files on disk, by default a temporary folder.

    >>> KafkaOptions(config={"num.partitions": 2}).auto_create
    True
    """

    auto_create: bool = True
    config: Mapping[str, SettingValue] = field(default_factory=dict)
    files: str = "memory"
    directory: str | None = None

    def __post_init__(self) -> None:
        if self.files not in _PLACES:
            raise ValueError(f"files={self.files!r}; choose one of {', '.join(_PLACES)}")

    @property
    def is_on_disk(self) -> bool:
        """Whether the files are not in memory."""
        return self.files == "disk" or self.directory is not None


def options_of(arguments: Mapping[str, object], *, owner: str) -> KafkaOptions:
    """Return options given by name; TypeError for an unknown name, with the nearest known one."""
    __tracebackhide__ = True
    known = [each.name for each in fields(KafkaOptions)]
    for name in arguments:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"it takes {', '.join(known)}"
            if name == "partitions":
                remedy = "give it to kafka.create_topic, or config={'num.partitions': ...}"
            raise TypeError(f"{owner} has no argument {name!r}; {remedy}")
    return KafkaOptions(**arguments)  # type: ignore[arg-type]  # the class checks them

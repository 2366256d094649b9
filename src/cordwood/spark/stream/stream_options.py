"""Options of a stream next to those of a batch read, with spark-sql-kafka's names.

A stream has the options of `source_options` with these differences:

    startingOffsets   the default is `latest`, and both words are allowed; new queries only
    ending…           rejected, because a stream has no end
    pushFilters       rejected: Spark pushes no filters into a stream

`STREAM_OPTIONS` describes the options that streams alone have, for which `source_options.STREAMING`
has the names. Tests compare the table of `docs/streaming.md` and those names with it.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from cordwood.core.errors import SettingError
from cordwood.spark.source.local_paths import with_local_paths
from cordwood.spark.source.source_options import SourceOptions, count_option, parse_options
from cordwood.spark.stream.admission import MAX_DELAY_MS, NO_LIMITS, AdmissionLimits
from cordwood.spark.stream.stream_progress import StreamPolicy

_SERVERS: Final = "kafka.bootstrap.servers"
_RECREATED: Final = ("fail", "restart")
#: Milliseconds of the units that Spark accepts.
_UNITS: Final[Mapping[str, float]] = {
    "us": 0.001,
    "ms": 1,
    "s": 1000,
    "m": 60_000,
    "min": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}


class StreamOption(NamedTuple):
    """An option of streams: its name, default and effect."""

    name: str
    default: str
    effect: str


#: The options that `parse_stream_options` accepts in addition to those of a batch read.
STREAM_OPTIONS: Final = (
    StreamOption("maxOffsetsPerTrigger", "none", "Offsets of one batch, shared by backlog."),
    StreamOption("maxBytesPerTrigger", "none", "Bytes of one batch, shared by backlog."),
    StreamOption("minOffsetsPerTrigger", "none", "Offsets that a batch waits for."),
    StreamOption("maxTriggerDelay", "15m", "Time after which a batch no longer waits."),
    StreamOption(
        "groupId", "none", "Group to which the offsets of finished batches are committed."
    ),
    StreamOption("groupIdPrefix", "none", "Accepted from spark-sql-kafka, without effect."),
    StreamOption(
        "onRecreatedTopic", "fail", "`restart` reads a topic that was created again from offset 0."
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamOptions:
    """The parsed options of a stream; `source` are those of its reads."""

    source: SourceOptions
    limits: AdmissionLimits = NO_LIMITS
    group_id: str | None = None
    has_group_prefix: bool = False
    restarts_recreated: bool = False
    has_split_bytes: bool = False

    @property
    def policy(self) -> StreamPolicy:
        """The answers to topics that change under the stream."""
        return StreamPolicy(self.source.gap, self.restarts_recreated)


def parse_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Parse Spark's options; raise SettingError for an option that cannot be used."""
    texts = {name.lower(): text for name, text in given.items()}
    source = parse_options(given, is_streaming=True)
    return StreamOptions(
        source=source,
        limits=_limits(texts),
        group_id=_group_id(texts, source),
        has_group_prefix="groupidprefix" in texts,
        restarts_recreated=_recreated(texts) == "restart",
        has_split_bytes="splitbytes" in texts,
    )


def parse_local_stream_options(given: Mapping[str, str]) -> StreamOptions:
    """Return the value of Spark's options, with absolute paths (`local_paths`)."""
    options = parse_stream_options(given)
    return replace(options, source=with_local_paths(options.source))


def stream_names_in(given: Mapping[str, str]) -> list[str]:
    """Return the names among the options that only streams have."""
    own = {each.name.lower(): each.name for each in STREAM_OPTIONS}
    return [own[name.lower()] for name in given if name.lower() in own]


def _limits(texts: Mapping[str, str]) -> AdmissionLimits:
    limits = AdmissionLimits(
        max_offsets=count_option(texts, "maxOffsetsPerTrigger"),
        max_bytes=count_option(texts, "maxBytesPerTrigger"),
        min_offsets=count_option(texts, "minOffsetsPerTrigger"),
        max_delay_ms=_duration_ms(texts, "maxTriggerDelay", default=MAX_DELAY_MS),
    )
    least, most = limits.min_offsets, limits.max_offsets
    if least is not None and most is not None and least > most:
        raise _wrong(
            "minOffsetsPerTrigger",
            f"minOffsetsPerTrigger {least} is above maxOffsetsPerTrigger {most}",
            "lower minOffsetsPerTrigger",
        )
    if least is None and "maxtriggerdelay" in texts:
        raise _wrong(
            "maxTriggerDelay",
            "maxTriggerDelay has no effect without minOffsetsPerTrigger",
            "set minOffsetsPerTrigger, or remove it",
        )
    return limits


def _duration_ms(texts: Mapping[str, str], name: str, *, default: int) -> int:
    text = texts.get(name.lower())
    if text is None:
        return default
    found = re.fullmatch(r"\s*(\d+)\s*([a-z]*)\s*", text.lower())
    unit = None if found is None else _UNITS.get(found[2] or "ms")
    if found is None or unit is None:
        raise _wrong(
            name, f"{name}: {text!r} is not a duration", f"use a number and {', '.join(_UNITS)}"
        )
    return int(int(found[1]) * unit)


def _group_id(texts: Mapping[str, str], source: SourceOptions) -> str | None:
    group = texts.get("groupid")
    if group is None:
        return None
    if not group:
        raise _wrong("groupId", "groupId: no name is given", "set a name, or remove it")
    if not source.servers:
        raise _wrong(
            "groupId",
            f"groupId has no effect without {_SERVERS}: only brokers have groups",
            f"set {_SERVERS}, or remove groupId",
        )
    if source.client.get("group.id", group) != group:
        raise _wrong(
            "groupId", "groupId and kafka.group.id name two groups", "remove kafka.group.id"
        )
    return group


def _recreated(texts: Mapping[str, str]) -> str:
    answer = texts.get("onrecreatedtopic", _RECREATED[0]).strip().lower()
    if answer not in _RECREATED:
        raise _wrong(
            "onRecreatedTopic",
            f"onRecreatedTopic: unknown answer {answer!r}",
            f"use {' or '.join(_RECREATED)}",
        )
    return answer


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)

"""Definition of a pipeline, from a TOML file or a mapping (Kafka Connect: a connector's config).

    name = "orders"
    checkpoint = "checkpoints/orders"       the state of the stream; by default <name>.checkpoint
    trigger = "5 seconds"                   or "available-now", the default: stop at the end

    [source]                                options of format("cordwood"); by default a new
                                            pipeline starts at the earliest offsets, and reads
                                            committed records
    path = "kafka-logs"
    subscribe = "orders"

    [[transform]]                           steps in their order, one kind each
    sql = "SELECT key, value FROM input WHERE value IS NOT NULL"
    [[transform]]
    function = "shop.orders:clean"          a function from DataFrame to DataFrame
    [[transform]]
    decode = "avro"                         a function of cordwood.spark.transforms, with options
    schemas = "http://registry:8081"
    reader = "orders-value"

    [sink]
    format = "kafka"                        options of the sink: topic, kafka.bootstrap.servers, …
    [sink]
    format = "delta"                        or iceberg, parquet; `to` is the folder
    mode = "upsert"                         or append, the default
    key = "key"

Paths are relative to the folder of the file.
"""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Final, TypeAlias

from cordwood.core.errors import SettingError
from cordwood.spark.runtime.local_path import is_address

Options: TypeAlias = Mapping[str, str]

KAFKA: Final = "kafka"
TABLES: Final = ("delta", "iceberg", "parquet")
APPEND: Final = "append"
UPSERT: Final = "upsert"
AVAILABLE_NOW: Final = "available-now"

_NAMES: Final = ("name", "checkpoint", "trigger", "source", "transform", "sink")
#: The kinds of a step; `decode` and `encode` have a format as their value.
STEPS: Final = ("sql", "function", "decode", "encode", "dead-letters")
#: Options with a path, and the one with a list of paths; the source accepts names in any case.
_PATHS: Final = ("path", "to", "schemas", "refillpath", "gaptable")
_PATH_LIST: Final = "paths"
_TABLE_OPTIONS: Final = ("to", "table", "mode", "key", "order")
_CATALOG: Final = "catalog."


@dataclass(frozen=True, slots=True, kw_only=True)
class PipelineStep:
    """A transformation: its kind, its main value, and its options."""

    kind: str
    value: str
    options: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class KafkaSink:
    """A sink with topics: the options of `format("cordwood")` for writing."""

    options: Options


@dataclass(frozen=True, slots=True, kw_only=True)
class TableSink:
    """A sink with a table; an upsert keeps the last row of each `key` by the column `order`."""

    format: str
    to: str
    table: str | None = None
    mode: str = APPEND
    key: tuple[str, ...] = ()
    order: str = "offset"
    catalog: Options = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """A pipeline: what it reads, how it transforms rows, and where it writes them."""

    name: str
    checkpoint: str
    source: Options
    sink: KafkaSink | TableSink
    steps: tuple[PipelineStep, ...] = ()
    trigger: str = AVAILABLE_NOW
    #: The folder of the file, in which its functions are looked up too.
    folder: str = "."


def read_pipeline(path: str) -> Pipeline:
    """Return the pipeline in a TOML file; raise SettingError for an unusable one."""
    place = Path(path)
    try:
        with place.open("rb") as file:
            given = tomllib.load(file)
    except OSError as error:
        raise _wrong(
            "path", f"{path}: {error.strerror}", "write the path of a TOML file"
        ) from error
    except tomllib.TOMLDecodeError as error:
        raise _wrong("path", f"{path}: not TOML ({error})", "correct the file") from error
    return parse_pipeline({"name": place.stem, **given}, folder=str(place.resolve().parent))


def parse_pipeline(given: Mapping[str, object], *, folder: str = ".") -> Pipeline:
    """Return the pipeline that a mapping defines; raise SettingError for an unusable one."""
    _refuse_unknown(given, _NAMES, "the pipeline")
    name = _text(given, "name")
    checkpoint = _text(given, "checkpoint", default=f"{name}.checkpoint")
    steps = given.get("transform", ())
    if not isinstance(steps, list | tuple):
        raise _wrong("transform", "transform: not a list of steps", "write [[transform]]")
    parsed = tuple(_step(each, number, folder) for number, each in enumerate(steps, 1))
    sink = _sink(_options(given, "sink", folder))
    _check_dead_letters(parsed, sink)
    return Pipeline(
        name=name,
        checkpoint=_placed(checkpoint, folder),
        source=_options(given, "source", folder),
        sink=sink,
        steps=parsed,
        trigger=_text(given, "trigger", default=AVAILABLE_NOW),
        folder=folder,
    )


def _step(given: object, number: int, folder: str) -> PipelineStep:
    where = f"transform {number}"
    options = _options({where: given}, where, folder)
    kinds = [kind for kind in STEPS if kind in options]
    if len(kinds) != 1:
        found = " and ".join(kinds) or "no kind"
        raise _wrong(where, f"{where} has {found}", f"give it one of {', '.join(STEPS)}")
    kind = kinds[0]
    rest = {name: text for name, text in options.items() if name != kind}
    if rest and kind in ("sql", "function"):
        extra = next(iter(rest))
        raise _wrong(where, f"{where}: unknown option {extra}", f"remove it: {kind} has none")
    return PipelineStep(kind=kind, value=options[kind], options=rest)


def _check_dead_letters(steps: Sequence[PipelineStep], sink: KafkaSink | TableSink) -> None:
    """Raise SettingError if dead letters would have other bytes, or go where other rows go."""
    replaced = set[str]()
    for number, step in enumerate(steps, 1):
        if step.kind == "encode":
            replaced.add(step.options.get("into", "value"))
        failed = step.options.get("failed", "value")
        if step.kind == "dead-letters" and failed in replaced:
            where = f"transform {number}"
            raise _wrong(
                where,
                f"{where}: an encode before it replaces {failed}, the bytes of dead letters",
                'give encode another column, as into = "out", and this step value = "out"',
            )
        if step.kind == "dead-letters":
            _check_topics(f"transform {number}", sink)


def _check_topics(where: str, sink: KafkaSink | TableSink) -> None:
    """Raise SettingError unless a sink writes each row to the topic that the row names."""
    if isinstance(sink, TableSink):
        raise _wrong(
            where,
            f"{where}: dead-letters names a topic, and the sink is a table, which would get them",
            "leave rows with an error out by WHERE error IS NULL, and let another pipeline send"
            " them to a topic",
        )
    if "topic" in map(str.lower, sink.options):
        raise _wrong(
            where,
            f"{where}: the option topic of the sink sends dead letters to it, too",
            "remove it from the sink: the step has a topic for the other rows",
        )


def _sink(options: Options) -> KafkaSink | TableSink:
    kind = options.get("format")
    rest = {name: text for name, text in options.items() if name != "format"}
    if kind == KAFKA:
        return KafkaSink(options=rest)
    if kind not in TABLES:
        known = ", ".join((KAFKA, *TABLES))
        found = "is not set" if kind is None else f"{kind!r} is unknown"
        raise _wrong("sink.format", f"sink: format {found}", f"use one of {known}")
    return _table_sink(kind, rest)


def _table_sink(kind: str, options: Options) -> TableSink:
    catalog = {name: text for name, text in options.items() if name.startswith(_CATALOG)}
    known = {name: text for name, text in options.items() if name not in catalog}
    _refuse_unknown(known, _TABLE_OPTIONS, "the sink")
    mode = known.get("mode", APPEND)
    key = tuple(filter(None, map(str.strip, known.get("key", "").split(","))))
    if "to" not in known:
        raise _wrong("sink.to", "sink: to is not set", "set it to the folder of the table")
    if mode not in (APPEND, UPSERT):
        raise _wrong("sink.mode", f"sink: unknown mode {mode!r}", f"use {APPEND} or {UPSERT}")
    if (mode == UPSERT) != bool(key):
        raise _wrong(
            "sink.key", "sink: an upsert needs a key, and an append has none", "set mode and key"
        )
    if mode == UPSERT and kind == "parquet":
        raise _wrong(
            "sink.mode", "sink: a folder of Parquet files cannot be updated", "use delta or iceberg"
        )
    if (kind == "iceberg") != ("table" in known):
        raise _wrong(
            "sink.table",
            "sink: an Iceberg table has a name, and no other one has",
            "set table to <namespace>.<name> with format iceberg only",
        )
    return TableSink(
        format=kind,
        to=known["to"],
        table=known.get("table"),
        mode=mode,
        key=key,
        order=known.get("order", "offset"),
        catalog={name.removeprefix(_CATALOG): text for name, text in catalog.items()},
    )


def _options(given: Mapping[str, object], name: str, folder: str) -> dict[str, str]:
    """Return the options of a part as texts; tables in them are names with dots."""
    part = given.get(name)
    if not isinstance(part, Mapping):
        raise _wrong(name, f"{name} is missing", f"write a table [{name}]")
    texts = dict[str, str]()
    _flatten(part, "", texts)
    return {key: _with_places(key, text, folder) for key, text in texts.items()}


def _with_places(name: str, text: str, folder: str) -> str:
    """Return the text of an option, in which relative paths are in the folder of the file."""
    if name.lower() in _PATHS:
        return _placed(text, folder)
    if name.lower() != _PATH_LIST:
        return text
    try:
        paths = json.loads(text)
    except ValueError:
        return text  # the source rejects it
    is_list = isinstance(paths, list)
    return json.dumps([_placed(str(each), folder) for each in paths]) if is_list else text


def _flatten(part: Mapping[str, object], prefix: str, into: dict[str, str]) -> None:
    for name, value in part.items():
        if isinstance(value, Mapping):
            _flatten(value, f"{prefix}{name}.", into)
        elif isinstance(value, bool):
            into[prefix + name] = str(value).lower()
        elif isinstance(value, str | int | float):
            into[prefix + name] = str(value)
        elif isinstance(value, list) and not prefix and name.lower() == _PATH_LIST:
            into[name] = json.dumps([str(each) for each in value])
        else:
            raise _wrong(
                prefix + name,
                f"{prefix}{name}: a {type(value).__name__} cannot be an option",
                "write a text",
            )


def _placed(text: str, folder: str) -> str:
    """Return a path in a folder; addresses stay as they are."""
    return text if is_address(text) else str(Path(folder, text))


def _text(given: Mapping[str, object], name: str, *, default: str = "") -> str:
    value = given.get(name, default)
    if not isinstance(value, str) or not value:
        raise _wrong(name, f"{name}: {value!r} is not a text", f"set {name}")
    return value


def _refuse_unknown(given: Mapping[str, object], known: tuple[str, ...], of: str) -> None:
    for name in given:
        if name not in known:
            near = get_close_matches(name, known, n=1)
            remedy = f"did you mean {near[0]}?" if near else f"use {', '.join(known)}"
            raise _wrong(name, f"unknown option of {of}: {name}", remedy)


def _wrong(key: str, problem: str, remedy: str) -> SettingError:
    return SettingError(problem, key=key, remedy=remedy)

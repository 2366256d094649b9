"""Steps of a pipeline, as functions from DataFrame to DataFrame (Kafka Connect: transformations).

sql             a query of the view `input`
function        `module:name`, called with the DataFrame
decode, encode  avro, json or protobuf, with the options of `cordwood.spark.transforms`
dead-letters    the topic of rows with an error, with the options of `with_dead_letters`
"""

import sys
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from threading import Lock
from types import MappingProxyType, ModuleType
from typing import Final, TypeAlias

from pyspark import cloudpickle
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame

from cordwood.core.errors import SettingError
from cordwood.spark import transforms
from cordwood.spark.pipeline.pipeline_definition import Pipeline, PipelineStep

Transform: TypeAlias = Callable[..., DataFrame]

#: The functions of each kind of step, by format.
_FORMATS: Final[Mapping[str, Mapping[str, Transform]]] = MappingProxyType(
    {
        "decode": {
            "avro": transforms.decode_avro,
            "json": transforms.decode_json,
            "protobuf": transforms.decode_protobuf,
        },
        "encode": {
            "avro": transforms.encode_avro,
            "json": transforms.encode_json,
            "protobuf": transforms.encode_protobuf,
        },
    }
)
#: Held while the view `input` exists.
_VIEW: Final = Lock()
#: Options that are a number if they have only digits: ids of schemas.
_IDS: Final = ("reader", "schema")


def apply_steps(frame: DataFrame, pipeline: Pipeline) -> DataFrame:
    """Return the rows after all steps; raise SettingError for a step that cannot be applied."""
    for number, step in enumerate(pipeline.steps, 1):
        frame = _applied(frame, step, number, folder=pipeline.folder)
    return frame


def _applied(frame: DataFrame, step: PipelineStep, number: int, *, folder: str) -> DataFrame:
    where = f"transform {number}"
    match step.kind:
        case "sql":
            try:
                return _queried(frame, step.value)
            except PySparkException as error:
                raise _wrong(where, f"sql: {error}", "correct the query") from error
        case "function":
            return _called(frame, step.value, where, folder=folder)
        case "dead-letters":
            parted = partial(transforms.with_dead_letters, dead=step.value)
            return _with_options(parted, frame, step, where)
        case _:
            return _formatted(frame, step, where)


def _queried(frame: DataFrame, query: str) -> DataFrame:
    # Spark resolves the view at once; pipelines of other threads use the same name.
    with _VIEW:
        frame.createOrReplaceTempView("input")
        try:
            return frame.sparkSession.sql(query)
        finally:
            frame.sparkSession.catalog.dropTempView("input")


def _called(frame: DataFrame, place: str, where: str, *, folder: str) -> DataFrame:
    function = _function(place, where, folder=folder)
    try:
        result = function(frame)
    except TypeError as error:
        raise _wrong(
            where, f"{place} cannot be called ({error})", "let it take a DataFrame alone"
        ) from error
    if not isinstance(result, DataFrame):
        raise _wrong(where, f"{place} returns a {type(result).__name__}", "return a DataFrame")
    return result


def _function(place: str, where: str, *, folder: str) -> Callable[[DataFrame], object]:
    module, _, name = place.partition(":")
    try:
        imported = _imported(module, Path(folder).resolve())
        found = getattr(imported, name)
    except (ImportError, AttributeError, ValueError) as error:
        raise _wrong(
            where, f"{place} cannot be imported ({error})", "write <module>:<function>"
        ) from error
    if not callable(found):
        raise _wrong(where, f"{place} is not a function", "write <module>:<function>")
    function: Callable[[DataFrame], object] = found
    return function


def _imported(name: str, folder: Path) -> ModuleType:
    """Import a module; one of the folder is sent to tasks, which do not have the folder."""
    sys.path.insert(0, str(folder))
    try:
        imported = import_module(name)
    finally:
        sys.path.remove(str(folder))
    own = folder.joinpath(*name.split("."))
    is_own = own.with_suffix(".py").exists() or (own / "__init__.py").exists()
    if is_own and folder not in Path(imported.__file__ or "").resolve().parents:
        raise ImportError(f"{name} is already imported from {imported.__file__}")
    if is_own:
        cloudpickle.register_pickle_by_value(imported)  # type: ignore[no-untyped-call]  # no types
    return imported


def _formatted(frame: DataFrame, step: PipelineStep, where: str) -> DataFrame:
    functions = _FORMATS[step.kind]
    if step.value not in functions:
        raise _wrong(where, f"unknown format {step.value!r}", f"use one of {', '.join(functions)}")
    return _with_options(functions[step.value], frame, step, where)


def _with_options(
    function: Transform, frame: DataFrame, step: PipelineStep, where: str
) -> DataFrame:
    options: dict[str, str | int] = {
        name: int(text) if name in _IDS and text.isdecimal() else text
        for name, text in step.options.items()
    }
    try:
        return function(frame, **options)
    except (TypeError, PySparkException) as error:
        raise _wrong(where, f"{step.kind} {step.value}: {error}", "correct its options") from error


def _wrong(where: str, problem: str, remedy: str) -> SettingError:
    return SettingError(f"{where}: {problem}", key=where, remedy=remedy)

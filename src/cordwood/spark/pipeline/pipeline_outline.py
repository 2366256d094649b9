"""Outline of a pipeline: what it reads, what it does, where it writes, in lines for a person."""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from cordwood.spark.pipeline.pipeline_definition import UPSERT, KafkaSink, Pipeline, TableSink

#: Words in the names of options whose values are not shown.
_SECRETS: Final = (
    *("password", "secret", "token", "credential", "sasl.jaas.config"),
    *("apikey", "api-key", "keystore.key"),
)
#: A login in an address.
_LOGIN: Final = re.compile(r"//[^/@\s]*@")
_SQL_SHOWN: Final = 100


def pipeline_outline(pipeline: Pipeline) -> str:
    """Return the outline."""
    return "\n".join(_lines(pipeline))


def _lines(pipeline: Pipeline) -> Iterator[str]:
    yield f"pipeline    {pipeline.name}, trigger {pipeline.trigger}"
    yield f"read        {_shown(pipeline.source)}"
    for number, step in enumerate(pipeline.steps, 1):
        value = " ".join(step.value.split())
        more = f" ({_shown(step.options)})" if step.options else ""
        yield f"step {number:<7}{step.kind} {value[:_SQL_SHOWN]}{more}"
    if isinstance(pipeline.sink, KafkaSink):
        options = {name.lower(): text for name, text in pipeline.sink.options.items()}
        how = options.get("delivery", "exactly-once").replace("-", " ")
        yield f"write       topics, {how}: {_shown(pipeline.sink.options)}"
    else:
        yield f"write       {_table(pipeline.sink)}"
    yield f"checkpoint  {pipeline.checkpoint}"


def _table(sink: TableSink) -> str:
    name = f" {sink.table}" if sink.table is not None else ""
    how = f"the last row of each {', '.join(sink.key)}" if sink.mode == UPSERT else "append"
    return f"{sink.format} table{name} in {sink.to}, one commit for each batch: {how}"


def _shown(options: Mapping[str, str]) -> str:
    return ", ".join(f"{name}={_masked(name, text)}" for name, text in options.items())


def _masked(name: str, text: str) -> str:
    is_secret = any(word in name.lower() for word in _SECRETS)
    return "***" if is_secret else _LOGIN.sub("//***@", text)

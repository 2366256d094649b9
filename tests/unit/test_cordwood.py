"""The facade offers every public name and imports a module only when its name is asked for."""

import subprocess
import sys

import pytest

import cordwood


def modules_after(code: str) -> set[str]:
    """What a fresh interpreter has imported once it has run the code."""
    command = [sys.executable, "-c", f"{code}; import sys; print(*sys.modules)"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_facade_imports_nothing_else_when_imported() -> None:
    loaded = modules_after("import cordwood") - modules_after("import typing")

    assert loaded == {"cordwood"}


def test_facade_stays_light_when_a_batch_is_asked_for() -> None:
    loaded = modules_after("import cordwood; cordwood.RecordBatch, cordwood.BatchBuilder")

    assert not loaded & {"asyncio", "numpy", "numba", "pyarrow"}


@pytest.mark.parametrize("name", cordwood.__all__)
def test_facade_resolves_the_name_when_asked(name: str) -> None:
    value = getattr(cordwood, name)

    assert value is getattr(cordwood, name)
    assert name in dir(cordwood)


def test_facade_names_itself_when_the_name_is_unknown() -> None:
    with pytest.raises(AttributeError, match="'cordwood' has no attribute 'no_such_name'"):
        getattr(cordwood, "no_such_name")  # noqa: B009  # the name is not there for mypy either

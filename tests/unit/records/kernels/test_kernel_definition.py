"""The definition of a kernel: letters for types, and the function itself without a maker."""

from collections.abc import Callable

import pytest

from cordwood.core.errors import KernelLibraryError
from cordwood.records.kernels import kernel_definition
from cordwood.records.kernels.interpreted import wrapping_sum
from cordwood.records.kernels.kernel_definition import (
    INT,
    SLABS,
    SOURCE,
    Kernel,
    Kind,
    inlined,
    kernel,
    move,
    several,
    spliced,
    together,
)
from cordwood.records.kernels.kernel_library import KernelLibrary


class NotedMaker:
    """A maker that notes what it receives."""

    def __init__(self) -> None:
        self.notes: list[tuple[object, ...]] = []

    def kernel(self, function: Kernel, result: Kind, arguments: tuple[Kind, ...]) -> Kernel:
        self.notes.append((function, result, arguments))
        return function

    def part(self, function: Kernel, *, is_spliced: bool) -> Kernel:
        self.notes.append((function, is_spliced))
        return function

    def move(self, name: str) -> Callable[..., object]:
        return lambda _: name


def library_of(kernels: dict[str, Callable[..., object]]) -> KernelLibrary:
    return KernelLibrary(kernels, level="", has_crc_instruction=False, fingerprint="")


def doubled(value: int) -> int:
    return 2 * value


def compiled(value: int) -> int:
    """i"""  # noqa: D403  # the letters, as in a library
    return 2 * value


@pytest.mark.parametrize(
    ("kind", "letters"), ((SLABS, "(bb)"), (together(SOURCE, 3), "(rrr)"), (several(2), "(ii)"))
)
def test_tuple_has_a_letter_per_value(kind: Kind, letters: str) -> None:
    assert kind.letters == letters


def test_kernel_returns_what_its_function_returns() -> None:
    assert kernel(INT, INT)(doubled)(21) == 42


def test_function_stays_as_it_was_written_without_a_maker() -> None:
    made = [make(doubled) for make in (inlined, spliced, kernel(INT, INT))]

    assert [one is doubled for one in made] == [True] * 3


def test_maker_receives_the_functions_with_their_types(monkeypatch: pytest.MonkeyPatch) -> None:
    maker = NotedMaker()
    monkeypatch.setattr(kernel_definition, "maker", maker)

    kernel(INT, SLABS)(doubled)
    inlined(doubled)
    spliced(doubled)

    moved: object = move(doubled)(1)

    assert moved == "doubled"
    assert maker.notes == [(doubled, INT, (SLABS,)), (doubled, False), (doubled, True)]


@pytest.mark.parametrize(("module", "is_found"), (("cordwood.records.a", True), ("tests.a", False)))
def test_kernel_is_what_the_library_has_under_its_name(
    monkeypatch: pytest.MonkeyPatch, module: str, *, is_found: bool
) -> None:
    library = library_of({"cordwood.records.a.doubled": compiled})
    monkeypatch.setattr(kernel_definition, "LIBRARY", library)
    monkeypatch.setattr(doubled, "__module__", module)

    assert (kernel(INT, INT)(doubled) is compiled) is is_found


@pytest.mark.parametrize("kernels", ({}, {"cordwood.records.a.doubled": compiled}))
def test_kernel_that_the_library_lacks_is_an_error_with_a_remedy(
    monkeypatch: pytest.MonkeyPatch, kernels: dict[str, Callable[..., object]]
) -> None:
    """The library is of sources without the kernel, or in which it has one argument."""
    monkeypatch.setattr(kernel_definition, "LIBRARY", library_of(kernels))
    monkeypatch.setattr(doubled, "__module__", "cordwood.records.a")

    with pytest.raises(KernelLibraryError, match=r"records\.a\.doubled, ii\); .* make kernels"):
        kernel(INT, INT, INT)(doubled)


def test_move_is_its_twin_without_a_maker() -> None:
    assert move(wrapping_sum) is wrapping_sum

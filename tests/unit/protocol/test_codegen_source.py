"""Generated source: lines, names and compilation."""

from cordwood.protocol.codegen_source import GeneratedSource


def call(source: GeneratedSource, name: str) -> object:
    """Compile a function and return its result."""
    made = source.compiled(name, "a test")
    assert callable(made)
    return made()


def test_source_indents_the_body_of_a_block() -> None:
    source = GeneratedSource({})

    with source.block("def double(x):"):
        source.line("return x * 2")

    assert source.text == "def double(x):\n    return x * 2"


def test_each_constant_has_its_own_name() -> None:
    source = GeneratedSource({})
    one, two = source.constant("c", 1), source.constant("c", 2)

    with source.block("def both():"):
        source.line(f"return {one}, {two}")

    assert call(source, "both") == (1, 2)


def test_source_may_call_the_given_functions() -> None:
    source = GeneratedSource({"negate": lambda number: -number})

    source.line("def minus(): return negate(3)")

    assert call(source, "minus") == -3

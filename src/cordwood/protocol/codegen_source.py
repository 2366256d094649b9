"""Generated Python source: lines, and the objects that they refer to.

The source is derived from declarations alone, never from received bytes.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager


class GeneratedSource:
    """One function's source; `names` are its globals, by names without a digit."""

    def __init__(self, names: Mapping[str, object]) -> None:
        self._lines: list[str] = []
        self._names = dict(names)
        self._depth = 0
        self._made = 0

    def line(self, text: str) -> None:
        """Add a line at the present depth."""
        self._lines.append("    " * self._depth + text)

    @contextmanager
    def block(self, text: str) -> Iterator[None]:
        """Add a line that ends with a colon; lines added inside the context are indented."""
        self.line(text)
        self._depth += 1
        yield
        self._depth -= 1

    def variable(self, stem: str) -> str:
        """Return an unused name."""
        self._made += 1
        return f"{stem}{self._made}"

    def constant(self, stem: str, value: object) -> str:
        """Bind an object to an unused name."""
        name = self.variable(stem)
        self._names[name] = value
        return name

    @property
    def text(self) -> str:
        """The source so far."""
        return "\n".join(self._lines)

    def compiled(self, name: str, title: str) -> object:
        """Return the function called `name`; tracebacks show `title` as its file."""
        exec(compile(self.text, f"<{title}>", "exec"), self._names)  # noqa: S102 - see above
        return self._names[name]

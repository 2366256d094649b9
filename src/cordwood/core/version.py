"""The version of the package, as everybody tells it."""

from typing import Final

__version__: Final = "0.1.0"

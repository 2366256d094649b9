"""Time limits for another process to start, to answer or to end, on a busy machine.

A wait reaches its limit only on an error, so generous limits cost nothing.
"""

from typing import Final

PATIENCE_S: Final = 120

"""How long another process may take to come up, to answer or to end, on a machine that is busy.

Nothing waits for as long as that unless something is wrong, so it costs nothing to be generous.
"""

from typing import Final

PATIENCE_S: Final = 120

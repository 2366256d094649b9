"""What every package stands on: types, errors, binary primitives, settings, ports.

Promises: values and pure functions only, and no input or output but in `system`, which holds the
operating-system versions of the ports.
May import: nothing of Cordwood; a CRC-32C wheel in `binary`.
"""

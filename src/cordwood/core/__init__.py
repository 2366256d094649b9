"""Foundation of every package: types, errors, binary primitives, settings and ports.

Promises: values and pure functions only; input and output happen only in `system`, which implements
the ports on the operating system. May import: no other package of Cordwood; a CRC-32C wheel in
`binary`.
"""

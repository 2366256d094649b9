"""What tests of Cordwood, and of what is built on it, run on instead of the real world.

- `files`: a file system that loses what was not synced, and fails, tears or lags by script.
- `clock`: virtual time with its timers; `worker`: no threads; `random`: chance from a seed.

Promises: each keeps the contract of its port, by the same conformance suite as the real one.
May import: everything below. Each module is imported by its own name: none costs the others.
"""

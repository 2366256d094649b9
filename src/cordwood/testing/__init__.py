"""Fakes for tests of Cordwood and of applications on it.

- `files`: a file system that loses what was not synced, and fails, tears or delays by script.
- `clock`: virtual time with its timers; `worker`: no threads; `random`: a seeded random source.
- `zookeeper`: a server and its clients, whose connections a test breaks.

Promises: each fake keeps the contract of its port, checked by the conformance suite of the real
one. May import: everything below. Each module is imported by its own name, so that none loads the
others.
"""

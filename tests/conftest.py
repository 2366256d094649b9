"""How hard Hypothesis looks: `dev` at the desk, `ci` in `make test-all`, `long` in `make soak`."""

import os

from hypothesis import HealthCheck, settings

# Two cores are shared with other work, so a single slow example says nothing: pytest's own
# timeout bounds the whole test instead.
settings.register_profile("dev", deadline=None, max_examples=60)
settings.register_profile("ci", deadline=None, max_examples=300, derandomize=True)
settings.register_profile(
    "long",
    deadline=None,
    max_examples=5_000,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

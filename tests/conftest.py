"""Settings of every test: one hypothesis profile, no event loop left over from the import of a library."""

import asyncio

from hypothesis import HealthCheck, settings

# A shared machine stalls at any moment: examples are bounded in number, not in time.
settings.register_profile("specdeploy", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("specdeploy")


def pytest_configure() -> None:
    """pytest-asyncio would otherwise create a loop for synchronous modules, and nobody would close it."""
    asyncio.set_event_loop(None)

"""What every tier of tests shares: the storage emulator, the real photos, the local host."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from hypothesis import settings

from devhost.azurite import Azurite
from tests.host.running_host import RunningHost, serving

ROOT = Path(__file__).resolve().parents[1]
SHARED_DATA = ROOT.parent / "shared" / "data"

settings.register_profile("patient", deadline=None)  # a busy machine is no fault
settings.load_profile("patient")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what needs the shared data where a developer does not have it; never in CI."""
    if SHARED_DATA.is_dir() or os.environ.get("CI"):
        return
    needing = [item for item in items if "shared_data" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=needing)
    items[:] = [item for item in items if item not in needing]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real photos and models that lies beside the repository."""
    if not SHARED_DATA.is_dir():
        pytest.fail("The shared data is missing: expected ../shared/data beside the repository.")
    return SHARED_DATA


@pytest.fixture(scope="session")
def azurite() -> Iterator[Azurite]:
    """A storage emulator in memory on free ports, one for this test process."""
    with Azurite.start() as running:
        yield running


@pytest.fixture(scope="session")
def start_host() -> Callable[..., AbstractContextManager[RunningHost]]:
    """`with start_host(app_dir, options=[…], env={…}, storage=…) as host:` on a free port.

    Without `storage` (a connection string) the host starts an emulator of its own.
    """
    return serving

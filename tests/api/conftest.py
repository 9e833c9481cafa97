"""One app for all tests of the API; its owners are different in each."""

from collections.abc import Iterator
from itertools import count

import httpx
import pytest

from devhost.azurite import Azurite
from tests.api.service import Service, running

_numbers = count(1)


@pytest.fixture(scope="session")
def service(azurite: Azurite) -> Iterator[Service]:
    with running(azurite) as app:
        yield app


@pytest.fixture
def owner() -> str:
    return f"owner-{next(_numbers)}"


@pytest.fixture
def api(service: Service, owner: str) -> Iterator[httpx.Client]:
    """Calls as an owner that no other test knows."""
    with service.client(owner) as client:
        yield client

"""A world of fakes and an owner who calls."""

import pytest

from tests.factories import World
from tests.unit.api.calling import Caller


@pytest.fixture
def caller(world: World) -> Caller:
    return Caller(world)

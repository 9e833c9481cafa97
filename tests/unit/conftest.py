"""The product on fakes: what nearly every unit test starts from."""

import pytest

from tests.factories import World, make_world


@pytest.fixture
def world() -> World:
    """The default settings, empty storage, a clock that stands still."""
    return make_world()

"""A world whose timers can be fired."""

import pytest

from cleanup_abandoned_drafts.handler import CLEANUP
from cleanup_abandoned_drafts.repair import REPAIR
from shared.jobs import Tick, run


@pytest.fixture
def clean_up(world):
    """Fire the nightly cleanup; its report."""
    return lambda: run(CLEANUP, Tick(), world.deps).report


@pytest.fixture
def repair(world):
    """Fire a repair tick; its report."""
    return lambda: run(REPAIR, Tick(), world.deps).report

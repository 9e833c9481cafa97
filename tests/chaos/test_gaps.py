"""A crash in each gap: whatever one storage call does, nothing is lost, doubled or left over."""

import pytest

from tests.chaos.gaps import FAULTS, SCENARIOS, walk


@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
@pytest.mark.parametrize("scenario", SCENARIOS.values(), ids=SCENARIOS)
def test_storage_call_that_goes_wrong_leaves_no_damage(scenario, fault):
    """After repair and sweep the invariants hold, for each call of the operation in turn."""
    assert walk(scenario, fault) > 0

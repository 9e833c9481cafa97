"""The state machine as a whole, by random walks that hypothesis shrinks to the shortest fault."""

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.unit.model.machine import Wardrobe

WALKS = settings(
    max_examples=80,
    stateful_step_count=30,
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate, Phase.shrink],
)


def test_drafts_under_any_interleaving_keep_the_invariants():
    """Runs, crashes, retries, sweeps, withdrawals and edits in any order do no damage."""
    run_state_machine_as_test(Wardrobe, settings=WALKS)

"""The real host and the real emulator, with faults and deaths: a small `make chaos`."""

from pathlib import Path

import pytest

from bench.chaos import Plan, go_through
from bench.chaos_rig import rig

PLAN = Plan(
    photos=12,
    a_request=3,
    seed=4,
    fault_rate=0.05,
    kill_every=15,
    host_kills=0,  # a lost instance hides its messages for ten minutes: that is for `make chaos`
    storage_restarts=1,
    upload_pause=2,
    patience=540,
)


# A worker that dies over an upload keeps its Idempotency-Key for two minutes, each time.
@pytest.mark.timeout(1200)
def test_photos_survive_kills_faults_and_a_restart_of_storage(tmp_path: Path) -> None:
    """Every accepted photo ends, nearly all as Ready; nothing is lost, doubled or left over."""
    settings = {"REPAIR_SCHEDULE": "*/15 * * * * *"}
    with rig(tmp_path / "host.log", seed=PLAN.seed, rate=PLAN.fault_rate, settings=settings) as it:
        result, load = go_through(PLAN, it)
        deaths = it.deaths
    assert len(load.promised) == PLAN.photos
    assert result.broken(PLAN.photos, share=0.9) == []
    assert deaths.workers > 0
    assert deaths.storage == 1

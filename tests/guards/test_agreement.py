"""Numbers and names that stand in more than one place agree."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from devhost.ncrontab import Crontab
from process_image_job.pipeline import STEPS
from shared.domain.draft import DraftStatus
from shared.domain.retention import SETTLED
from shared.ncrontab import values_of
from shared.settings import Settings
from tests.factories import setting_texts

ROOT = Path(__file__).resolve().parents[2]
HOST = json.loads((ROOT / "host.json").read_text())
QUEUES = HOST["extensions"]["queues"]


def seconds(timespan):
    hours, minutes, rest = timespan.split(":")
    return int(hours) * 3600 + int(minutes) * 60 + int(rest)


def within_budget(settings, visibility, dequeues):
    """Waiting for a live lease never uses up a message, and a lease outlives two missed beats."""
    return (
        2 * settings.heartbeat_seconds < settings.lease_seconds <= visibility
        and settings.max_attempts + settings.job_time_limit_seconds / visibility < dequeues
    )


def test_retry_budget_holds():
    """The host delivers a message often enough for every attempt and every wait."""
    assert within_budget(
        Settings(), seconds(QUEUES["visibilityTimeout"]), QUEUES["maxDequeueCount"]
    )


@pytest.mark.parametrize(
    ("changes", "visibility", "dequeues"),
    [
        ({"heartbeat_seconds": 15}, 30, 10),
        ({"lease_seconds": 31}, 30, 10),
        ({"max_attempts": 6}, 30, 10),
        ({"job_time_limit_seconds": 150}, 30, 10),
        ({}, 30, 9),
    ],
)
def test_retry_budget_can_be_broken(changes, visibility, dequeues):
    """Each number of the budget matters."""
    assert not within_budget(Settings(**changes), visibility, dequeues)


def test_host_settings_are_those_of_the_design():
    """One at a time on one core, plain messages, ten minutes at most."""
    assert HOST["functionTimeout"] == "00:10:00"
    assert seconds(HOST["functionTimeout"]) == SETTLED.total_seconds()
    assert QUEUES == {
        "batchSize": 1,
        "newBatchThreshold": 0,
        "maxPollingInterval": "00:00:02",
        "maxDequeueCount": 10,
        "visibilityTimeout": "00:00:30",
        "messageEncoding": "none",
    }


def test_no_line_of_ours_is_sampled_away():
    """The alarms count lines, and a failed draft has to be found: the host keeps them all."""
    sampling = HOST["logging"]["applicationInsights"]["samplingSettings"]
    kept = set(sampling["excludedTypes"].split(";"))
    assert not sampling["isEnabled"] or kept >= {"Trace", "Exception", "Request"}


def test_sample_settings_hold_every_setting_and_no_other():
    """A setting that the sample does not show cannot be found by anyone."""
    sample = json.loads((ROOT / "local.settings.sample.json").read_text())
    values = sample["Values"]
    assert sample["IsEncrypted"] is False
    defaults = setting_texts()
    ours = {name: value for name, value in values.items() if name in defaults}
    assert ours.keys() == defaults.keys()
    different = {name: value for name, value in ours.items() if value != defaults[name]}
    assert different == {"AUTH_MODE": "local"}


def test_python_version_is_the_same_everywhere():
    """One Python for development, CI, Azure and the container."""
    version = (ROOT / ".python-version").read_text().strip()
    assert f'requires-python = ">={version}"' in (ROOT / "pyproject.toml").read_text()
    assert f'python_version = "{version}"' in (ROOT / "pyproject.toml").read_text()
    assert f"python{version}" in (ROOT / "Dockerfile").read_text()
    assert version in (ROOT / "infra" / "app" / "function.bicep").read_text()


def test_requirements_are_pinned():
    """Every package has one version."""
    for name in ("requirements.txt", "requirements-dev.txt"):
        for line in (ROOT / name).read_text().splitlines():
            if line and not line.startswith(("#", "-r")):
                assert re.fullmatch(r"[A-Za-z0-9_.\[\]-]+==[\w.]+", line), f"{name}: {line}"


def test_every_status_is_documented():
    """A status that the front page does not draw is a status nobody expects."""
    readme = (ROOT / "README.md").read_text()
    assert [status for status in DraftStatus if status not in readme] == []


def test_bundle_brings_the_storage_extension_that_reads_poison_queues():
    """Bundles before 4.32 drop messages of a poison queue that were delivered too often."""
    version = HOST["extensionBundle"]["version"]
    lowest, below = (tuple(map(int, each.split("."))) for each in version[1:-1].split(","))
    assert (version[0], version[-1]) == ("[", ")")
    assert (4, 32, 0) <= lowest < below <= (5, 0, 0)


def test_every_setting_is_documented():
    """The settings page names each one."""
    page = (ROOT / "docs" / "settings.md").read_text()
    assert [name for name in setting_texts() if f"`{name}`" not in page] == []


def test_pipeline_page_lists_the_steps_in_order():
    """Behind the probe, which is no step of the worker."""
    page = (ROOT / "docs" / "pipeline.md").read_text()
    listed = re.findall(r"^\| `(\w+)`", page, re.MULTILINE)
    assert listed == ["probe", *(step.__name__ for step in STEPS)]


_PARTS = st.sampled_from(
    ["*", "0", "1", "6", "7", "12", "31", "59", "60", "mon", "J", "sat", "", "L"]
)
_STEPS = st.sampled_from(["", "/2", "/0", "/-3", "/40", "/x", "/"])
_ITEMS = st.tuples(_PARTS, st.none() | _PARTS, _STEPS).map(
    lambda item: item[0] + ("" if item[1] is None else f"-{item[1]}") + item[2]
)
_FIELDS = st.lists(_ITEMS, min_size=1, max_size=2).map(",".join)


def allowed_by_the_app(schedule):
    try:
        return [set(values) for values in values_of(schedule)]
    except ValueError:
        return None


def allowed_by_the_host(schedule):
    try:
        crontab = Crontab.parse(schedule)
    except ValueError:
        return None
    clock = [crontab.seconds, crontab.minutes, crontab.hours]
    return [set(v) for v in (*clock, crontab.days, crontab.months, crontab.weekdays)]


@given(st.integers(0, 5), _FIELDS, st.sampled_from([5, 6, 7]))
@example(2, "22-2", 6)
@example(5, "s", 6)
def test_the_app_and_the_local_host_read_schedules_alike(place, field, count):
    """Neither may import the other, and windows have to be those that fire."""
    fields = ["*"] * count
    fields[min(place, count - 1)] = field
    schedule = " ".join(fields)
    assert allowed_by_the_app(schedule) == allowed_by_the_host(schedule)

"""The timers as function_app.py registers them."""

from tests.unit.api.registered import functions

FUNCTIONS = functions()
POLICIES = {name: each.get_settings_dict("retry_policy") for name, each in FUNCTIONS.items()}
TRIGGERS = {name: each.get_trigger() for name, each in FUNCTIONS.items()}
TIMERS = [name for name, trigger in TRIGGERS.items() if trigger.type == "timerTrigger"]


def test_timers_are_run_again_where_a_run_failed():
    """By the host, within their five minutes, so that a lost worker costs seconds."""
    for policy in map(POLICIES.get, TIMERS):
        assert policy is not None
        assert policy["strategy"] == "fixed_delay"
        assert (policy["max_retry_count"], policy["delay_interval"]) == ("3", "00:00:30")


def test_nothing_but_the_timers_has_a_retry_policy():
    """The queues deliver again by themselves; a second layer would multiply their tries."""
    assert {name for name, policy in POLICIES.items() if policy} == set(TIMERS)


def test_timers_do_not_run_at_each_start():
    """A restart or another instance is no reason to clean up; the host keeps the schedule."""
    triggers = [TRIGGERS[name].get_dict_repr() for name in TIMERS]
    assert [trigger.get("runOnStartup", False) for trigger in triggers] == [False, False]
    assert [trigger.get("useMonitor", True) for trigger in triggers] == [True, True]

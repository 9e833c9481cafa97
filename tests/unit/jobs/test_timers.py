"""The timers as function_app.py registers them."""

from tests.unit.api.registered import functions

POLICIES = {
    name: function.get_settings_dict("retry_policy") for name, function in functions().items()
}


def test_timers_are_run_again_where_a_run_failed():
    """By the host, within their five minutes, so that a lost worker costs seconds."""
    timers = ("cleanup_abandoned_drafts", "repair_unattended_drafts")
    for policy in map(POLICIES.get, timers):
        assert policy is not None
        assert policy["strategy"] == "fixed_delay"
        assert (policy["max_retry_count"], policy["delay_interval"]) == ("3", "00:00:30")


def test_nothing_but_the_timers_has_a_retry_policy():
    """The queues deliver again by themselves; a second layer would multiply their tries."""
    assert {name for name, policy in POLICIES.items() if policy} == {
        "cleanup_abandoned_drafts",
        "repair_unattended_drafts",
    }

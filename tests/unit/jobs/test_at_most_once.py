"""At most once a window: no retry, no second host, no impatient operator makes it two."""

import threading
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import pytest

from shared.domain.errors import ConflictError, RequestError, StorageUnavailableError
from shared.jobs import Tick, run
from shared.records.jobruns import JobRuns, Outcome
from shared.settings import Settings
from tests.factories import make_world
from tests.fakehost import Killed
from tests.unit.jobs.nightly import Newsletter

THREE = datetime(2026, 8, 1, 3, 0, tzinfo=UTC)
DAY = timedelta(days=1)


@pytest.fixture
def world():
    made = make_world()
    made.clock.now = THREE
    return made


@pytest.fixture
def newsletter():
    return Newsletter()


def fire(world, newsletter, **tick):
    return run(newsletter.job, Tick(**{"scheduled_at": THREE} | tick), world.deps)


def records(world):
    return list(JobRuns(world.deps.jobruns_table).newest("newsletter"))


def letters(world):
    return list(world.deps.letters.newest(world.clock()))


def test_window_is_claimed_before_the_job_acts(world, newsletter):
    """Its row is there, without an outcome, while the job works."""
    seen = []
    newsletter.meanwhile = lambda: seen.extend(found.outcome for found in records(world))
    done = fire(world, newsletter)
    assert seen == [None]
    assert (done.window, done.outcome) == (THREE, Outcome.SUCCESS)
    assert [found.outcome for found in records(world)] == [Outcome.SUCCESS]


def test_second_timer_of_a_window_does_nothing(world, newsletter):
    """A restart a minute later is quietly refused."""
    fire(world, newsletter)
    world.clock.pass_(minutes=1)
    assert fire(world, newsletter) is None
    assert newsletter.sent == ["2026-08-01"]


def test_next_window_runs_again(world, newsletter):
    """One window is one day here."""
    for _ in range(3):
        fire(world, newsletter)
        world.clock.pass_(days=1)
    assert newsletter.sent == ["2026-08-01", "2026-08-02", "2026-08-03"]


def test_operator_is_refused_where_the_window_was_run(world, newsletter):
    """Ten manual triggers after the timer: none acts, each is told why."""
    fire(world, newsletter)
    for _ in range(10):
        with pytest.raises(RequestError) as caught:
            fire(world, newsletter, trigger="operator")
        assert (caught.value.status, caught.value.code) == (409, "WINDOW_TAKEN")
    assert len(newsletter.sent) == 1


def test_operators_at_once_are_one_run(world, newsletter):
    """Ten people press the button before the timer; one run, and the timer finds it taken."""
    start, refused = threading.Barrier(10), []

    def press():
        start.wait()
        try:
            fire(world, newsletter, trigger="operator")
        except RequestError:
            refused.append(1)

    people = [threading.Thread(target=press) for _ in range(10)]
    for person in people:
        person.start()
    for person in people:
        person.join()
    assert fire(world, newsletter) is None
    assert (len(newsletter.sent), len(refused)) == (1, 9)


def test_hosts_at_once_are_one_run(world, newsletter):
    """Two hosts fire the same timer: the row has one owner."""
    start, ran = threading.Barrier(2), []

    def host():
        start.wait()
        ran.append(fire(world, newsletter))

    hosts = [threading.Thread(target=host) for _ in range(2)]
    for each in hosts:
        each.start()
    for each in hosts:
        each.join()
    assert len(newsletter.sent) == 1
    assert ran.count(None) == 1


def test_timer_that_is_past_due_runs_the_window_of_now_once(world, newsletter):
    """The host was away for three days: one letter, not three, and none at the restart after."""
    world.clock.now = THREE + 3 * DAY + timedelta(hours=8)
    fire(world, newsletter, past_due=True)
    fire(world, newsletter, past_due=True)
    assert newsletter.sent == ["2026-08-04"]
    world.clock.now = THREE + 4 * DAY
    fire(world, newsletter, scheduled_at=THREE + 4 * DAY)
    assert newsletter.sent == ["2026-08-04", "2026-08-05"]


def test_timer_that_fires_a_moment_early_runs_its_own_window(world, newsletter):
    """A few milliseconds before three it is not yesterday's turn again."""
    world.clock.now = THREE - DAY
    fire(world, newsletter, scheduled_at=THREE - DAY)
    world.clock.now = THREE - timedelta(milliseconds=4)
    assert fire(world, newsletter).window == THREE


def test_run_by_hand_through_the_host_belongs_to_the_window_of_now(world, newsletter):
    """The host hands it the next planned time; tomorrow's window stays free."""
    world.clock.now = THREE + timedelta(hours=7)
    assert fire(world, newsletter, scheduled_at=THREE + DAY).window == THREE
    world.clock.now = THREE + DAY
    assert fire(world, newsletter, scheduled_at=THREE + DAY).window == THREE + DAY


def test_job_that_fails_is_a_dead_letter_and_never_runs_again(world, newsletter):
    """A person decides what became of it; the window stays taken."""
    newsletter.trouble = ValueError("the printer is on fire")
    with pytest.raises(ValueError, match="on fire"):
        fire(world, newsletter)
    assert fire(world, newsletter) is None
    [letter], [found] = letters(world), records(world)
    assert (letter.code, letter.queue) == ("JOB_FAILED", "job newsletter")
    assert letter.reason == "ValueError: the printer is on fire"
    assert (found.outcome, found.error) == (Outcome.FAILED, letter.reason)
    assert len(newsletter.sent) == 1


@pytest.mark.parametrize("side", ["before", "after"])
@pytest.mark.parametrize("error", [Killed, StorageUnavailableError, ConflictError])
def test_fault_at_any_storage_call_never_makes_two_runs(side, error):
    """At most once: a window may be lost, and then a person is told; it never runs twice."""
    for number in range(20):
        world, newsletter = make_world(), Newsletter()
        world.clock.now = THREE
        calls = iter(range(1000))

        def strike(call, number=number, calls=calls):
            if next(calls) == number:
                raise error

        setattr(world.faults, side, strike)
        with suppress(Killed, StorageUnavailableError, ConflictError):
            fire(world, newsletter)
        world.faults.before = world.faults.after = lambda call: None
        reached = next(calls) > number
        for minutes in (1, 12, 600):
            world.clock.now = THREE + timedelta(minutes=minutes)
            fire(world, newsletter, past_due=True)
        world.clock.now = THREE + DAY
        fire(world, newsletter, scheduled_at=THREE + DAY)
        assert max(Counter(newsletter.sent).values()) == 1
        ended = {found.window: found.outcome for found in records(world)}
        assert ended[THREE] is not None, "nothing stays open"
        if ended[THREE] is Outcome.FAILED:
            assert [letter.code for letter in letters(world)] == ["JOB_FAILED"]
        else:
            assert "2026-08-01" in newsletter.sent
        if not reached:
            return
    raise AssertionError("the job makes fewer calls than that")


def test_run_that_was_lost_is_told_to_a_person(world, newsletter):
    """The process died while the job worked: whether the letters went out, nobody knows."""
    newsletter.trouble = Killed()
    with pytest.raises(Killed):
        fire(world, newsletter)
    world.clock.now = THREE + timedelta(minutes=5)
    fire(world, newsletter)
    assert letters(world) == [], "it may still be working"
    world.clock.now = THREE + timedelta(minutes=11)
    fire(world, newsletter)
    [letter], [found] = letters(world), records(world)
    assert letter.code == "JOB_FAILED"
    assert found.outcome is Outcome.FAILED
    assert len(newsletter.sent) == 1


def test_switch_turns_the_job_off(world, newsletter):
    """`JOB_<NAME>_ENABLED` stops timer and operator alike, and claims nothing."""

    class SwitchedOff(Settings):
        job_newsletter_enabled = False

    world = make_world(settings=SwitchedOff(auth_mode="local"))
    assert fire(world, newsletter) is None
    with pytest.raises(RequestError) as caught:
        fire(world, newsletter, trigger="operator")
    assert caught.value.code == "JOB_DISABLED"
    assert (newsletter.sent, records(world)) == ([], [])

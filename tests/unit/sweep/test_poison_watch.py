"""The repair's watch over poison queues: what nobody takes there becomes a dead letter in time."""

from datetime import timedelta

from cleanup_abandoned_drafts.repair import repair_and_watch
from shared.jobs import Tick
from shared.settings import Settings
from tests.factories import make_world
from tests.fakes import NOW


def test_stuck_poison_message_becomes_a_dead_letter(world, repair):
    """Delivered three times and never handled: nobody will."""
    world.poisoned.send('{"dequeueCount":"abc"}')
    for _ in range(3):
        world.poisoned.receive(1, hide=timedelta(minutes=10))
        world.clock.pass_(minutes=11)
    assert repair().dead_lettered == 1
    [letter] = world.deps.letters.newest(world.clock())
    assert (letter.code, letter.body) == ("STUCK", b'{"dequeueCount":"abc"}')
    assert letter.queue == "image-processing-jobs-poison"
    assert world.poisoned.depth() == 0


def test_fresh_poison_message_is_left_to_its_handler(world, repair):
    """Two deliveries may be bad luck."""
    world.poisoned.send("one")
    for _ in range(2):
        world.poisoned.receive(1, hide=timedelta(minutes=10))
        world.clock.pass_(minutes=11)
    assert repair().dead_lettered == 0
    assert len(world.poisoned.peek()) == 1


def test_event_that_found_no_receiver_becomes_a_dead_letter(world, repair):
    """The webhook's poison queue has no handler of its own."""
    world.deps.webhooks_poisoned.send('{"id":"x/1"}')
    assert repair().dead_lettered == 1
    [letter] = world.deps.letters.newest(world.clock())
    assert letter.queue == "draft-webhooks-poison"


def test_stuck_message_that_is_hidden_is_caught_when_it_comes_back(world):
    """The host takes it every ten minutes and hides it again; the repair is there in between."""
    world.poisoned.send("{}")
    for _ in range(3):
        world.clock.pass_(minutes=10)
        world.poisoned.receive(1, hide=timedelta(minutes=10))
    world.clock.pass_(minutes=8)
    repair_and_watch(Tick(), world.deps, pause=lambda seconds: world.clock.pass_(seconds=seconds))
    [letter] = world.deps.letters.newest(world.clock())
    assert letter.code == "STUCK"
    assert world.poisoned.depth() == 0


def test_watch_ends_at_once_where_nothing_is_poisoned(world):
    """An ordinary tick does not wait."""
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert pauses == []


def test_watch_lasts_no_longer_than_four_minutes(world):
    """The next tick goes on; ten seconds after the queue is empty it ends early."""
    world.poisoned.send("{}", delay=timedelta(hours=1))
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert sum(pauses) == 240
    pauses.clear()

    def emptied(seconds):
        pauses.append(seconds)
        world.poisoned.waiting.clear()

    repair_and_watch(Tick(), world.deps, pause=emptied)
    assert sum(pauses) == 10


def test_watch_ends_before_the_host_loses_its_patience(world):
    """A tick that went on with a cleanup for eight minutes has one left: the host stops at ten."""
    world.poisoned.send("{}", delay=timedelta(hours=1))

    def slowly(call):
        if call == "jobruns.query":
            world.faults.before = lambda call: None
            world.clock.pass_(minutes=8)

    world.faults.before = slowly
    repair_and_watch(Tick(), world.deps, pause=lambda seconds: world.clock.pass_(seconds=seconds))
    assert world.clock() == NOW + timedelta(minutes=9)


def test_watch_is_off_with_its_job(world):
    """The switch of the repair holds for it too."""
    world = make_world(
        settings=Settings(auth_mode="local", job_repair_unattended_drafts_enabled=False)
    )
    world.poisoned.send("{}")
    pauses = []
    repair_and_watch(Tick(), world.deps, pause=pauses.append)
    assert pauses == []

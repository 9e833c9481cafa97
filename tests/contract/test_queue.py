"""What every queue does, in memory and on the emulator."""

from datetime import timedelta

import pytest

from shared.storage.queues import AzureQueue
from tests.contract.conftest import fresh

HOUR = timedelta(hours=1)


def bodies(messages):
    return [message.body for message in messages]


def test_queue_keeps_a_text_as_it_is(queue):
    """No policy encodes what the producer has encoded."""
    queue.queue.send("eyJkcmFmdElkIjoiMSJ9")
    assert bodies(queue.queue.peek()) == [b"eyJkcmFmdElkIjoiMSJ9"]


def test_queue_hands_out_the_oldest_first(queue):
    """The head of the queue is what has waited longest."""
    for text in ("a", "b", "c"):
        queue.queue.send(text)
    assert bodies(queue.queue.peek(2)) == [b"a", b"b"]
    assert bodies(queue.queue.receive(2, hide=HOUR)) == [b"a", b"b"]


def test_queue_peek_changes_nothing(queue):
    """Looking does not count as a delivery."""
    queue.queue.send("a")
    queue.queue.peek()
    [seen] = queue.queue.peek()
    assert (seen.dequeue_count, seen.receipt) == (0, "")
    [received] = queue.queue.receive(1, hide=HOUR)
    assert received.dequeue_count == 1
    assert received.receipt


def test_queue_hides_what_was_received(queue):
    """Nobody else is given it while it is hidden."""
    queue.queue.send("a")
    queue.queue.receive(1, hide=HOUR)
    assert queue.queue.peek() == []
    assert queue.queue.receive(1, hide=HOUR) == []


def test_queue_counts_hidden_messages(queue):
    """The depth is what waits and what is in work."""
    queue.queue.send("a")
    queue.queue.send("b")
    queue.queue.receive(1, hide=HOUR)
    assert queue.queue.depth() == 2


def test_queue_gives_back_what_was_released(queue):
    """A message that was released is delivered again, and counted."""
    queue.queue.send("a")
    [first] = queue.queue.receive(1, hide=HOUR)
    queue.queue.release(first)
    [again] = queue.queue.receive(1, hide=HOUR)
    assert (again.id, again.dequeue_count) == (first.id, 2)


def test_queue_deletes_with_the_receipt(queue):
    """A message that is done does not come back."""
    queue.queue.send("a")
    [received] = queue.queue.receive(1, hide=HOUR)
    queue.queue.delete(received)
    assert queue.queue.depth() == 0


def test_queue_deletes_nothing_with_an_old_receipt(queue):
    """Who lost a message to another consumer cannot take it away."""
    queue.queue.send("a")
    [first] = queue.queue.receive(1, hide=HOUR)
    queue.queue.release(first)
    [second] = queue.queue.receive(1, hide=HOUR)
    queue.queue.delete(first)
    assert queue.queue.depth() == 1
    queue.queue.delete(second)
    assert queue.queue.depth() == 0


def test_queue_delete_twice_is_fine(queue):
    """A message that is gone is gone."""
    queue.queue.send("a")
    [received] = queue.queue.receive(1, hide=HOUR)
    queue.queue.delete(received)
    queue.queue.delete(received)
    assert queue.queue.depth() == 0


def test_queue_shows_a_delayed_message_when_its_time_has_come(queue):
    """It is there from the start, and visible later."""
    queue.queue.send("late", delay=timedelta(seconds=1))
    assert queue.queue.peek() == []
    assert queue.queue.depth() == 1
    assert queue.await_messages(1, 5) == [b"late"]


def test_queue_shows_a_hidden_message_when_its_time_has_come(queue):
    """What was received and never deleted is delivered again."""
    queue.queue.send("a")
    queue.queue.receive(1, hide=timedelta(seconds=1))
    assert queue.await_messages(1, 5) == [b"a"]


def test_queue_drops_what_has_expired(queue):
    """A message with a life ends; ours have none."""
    queue.queue.send("short", ttl=timedelta(seconds=1))
    queue.queue.send("for ever")
    for _ in range(50):
        if bodies(queue.queue.peek()) == [b"for ever"]:
            return
        queue.let_pass(0.1)
    raise AssertionError("the message did not expire")


def test_queue_says_when_a_message_was_put_in(queue):
    """Its age can be told, to the second."""
    before = queue.now() - timedelta(seconds=1)
    queue.queue.send("a")
    [seen] = queue.queue.peek()
    assert before <= seen.inserted_at <= queue.now() + timedelta(seconds=1)


@pytest.mark.parametrize(
    ("life", "within"), [(None, timedelta(days=365 * 100)), (timedelta(days=7), timedelta(days=6))]
)
def test_queue_keeps_a_message_for_ever_unless_told_otherwise(services, life, within):
    """Nobody's photo is forgotten because its message was old; copies for others may go."""
    client = services.queue(fresh("q"))
    client.create_queue()
    AzureQueue(client).send("a", ttl=life)
    [message] = client.peek_messages()
    left = message.expires_on - message.inserted_on
    assert left > within
    assert life is None or left == life

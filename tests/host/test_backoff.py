"""The waits between empty polls of a queue."""

from datetime import timedelta
from itertools import pairwise

from devhost.queues import Backoff

MAXIMUM = timedelta(seconds=2)


def test_backoff_starts_with_the_minimum() -> None:
    """The first empty poll is followed by 100 ms."""
    assert Backoff(MAXIMUM).next_delay(found=False) == timedelta(milliseconds=100)


def test_backoff_grows_by_chance_within_a_fifth_to_the_maximum() -> None:
    """The waits are 100 ms plus about 0.1, 0.2, 0.4, 0.8 … s, then the maximum for ever."""
    backoff = Backoff(MAXIMUM)
    delays = [backoff.next_delay(found=False).total_seconds() for _ in range(9)]
    for exponent, delay in enumerate(delays[1:5]):
        assert 0.1 + 0.08 * 2**exponent <= delay <= 0.1 + 0.12 * 2**exponent
    assert all(a < b for a, b in pairwise(delays[:6]))
    assert delays[7:] == [2.0, 2.0]


def test_backoff_after_a_message_starts_again_one_step_further() -> None:
    """What was found brings the minimum back; the wait after it already grows."""
    backoff = Backoff(MAXIMUM)
    for _ in range(9):
        backoff.next_delay(found=False)
    assert backoff.next_delay(found=True) == timedelta(milliseconds=100)
    assert 0.18 <= backoff.next_delay(found=False).total_seconds() <= 0.22

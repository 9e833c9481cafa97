"""When a timer fires: NCRONTAB in the local time zone, or a fixed interval."""

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import pairwise

from devhost.errors import FunctionInErrorError
from devhost.ncrontab import NEVER, Crontab
from devhost.timespan import parse_timespan

MINUTE = timedelta(minutes=1)


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Exactly one of `crontab` and `interval` is set; `zone` None is the machine's own zone."""

    text: str
    crontab: Crontab | None = None
    interval: timedelta | None = None
    zone: tzinfo | None = None

    @property
    def adjusts_for_dst(self) -> bool:
        """Fixed intervals do not know the clock on the wall."""
        return self.crontab is not None

    def next_after(self, moment: datetime) -> datetime:
        """The next time to fire after `moment`, both aware, the result in UTC."""
        if self.crontab is None:
            assert self.interval is not None
            return (moment + self.interval).astimezone(UTC)
        local = moment.astimezone(self.zone)
        wall = self.crontab.next_after(local.replace(tzinfo=None, fold=0))
        if wall == NEVER:
            return wall.replace(tzinfo=UTC)
        if self._keeps_running_when_clocks_change():
            return self._next_by_offset(self.crontab, local)
        return self._next_by_wall(moment, wall)

    def more_often_than_a_minute(self, moment: datetime) -> bool:
        """Whether any of the next occurrences follows its predecessor within a minute."""
        times = [self.next_after(moment)]
        for _ in range(5):
            times.append(self.next_after(times[-1]))
        return any(b - a < MINUTE for a, b in pairwise(times))

    def _keeps_running_when_clocks_change(self) -> bool:
        return any(sign in field for field in self.text.split()[:-3] for sign in "*-/")

    def _next_by_wall(self, moment: datetime, wall: datetime) -> datetime:
        """A point in time fires once: the second pass through a repeated hour is left out."""
        assert self.crontab is not None
        while (instant := _instant(wall, self.zone)) <= moment:
            wall = self.crontab.next_after(wall)
        return instant

    def _next_by_offset(self, crontab: Crontab, local: datetime) -> datetime:
        """An interval fires by elapsed time: also through both passes of a repeated hour."""
        start, wall = local.astimezone(UTC), local.replace(tzinfo=None, fold=0)
        while True:
            offset = start.astimezone(self.zone).utcoffset() or timedelta(0)
            instant = (crontab.next_after(wall) - offset).replace(tzinfo=UTC)
            changed = _offset_change(start, instant, self.zone)
            if changed is None:
                return instant
            start = changed
            wall = start.astimezone(self.zone).replace(tzinfo=None, fold=0) - timedelta(seconds=1)


def parse_schedule(text: str, zone: tzinfo | None = None) -> Schedule:
    """Cron if it is cron, else a time span; what is neither puts the function in error."""
    if crontab := _crontab(text):
        return Schedule(text=text, crontab=crontab, zone=zone)
    try:
        interval = parse_timespan(text)
    except ValueError:
        interval = timedelta(0)
    if interval <= timedelta(0):
        raise FunctionInErrorError(
            f"The schedule expression '{text}' was not recognized as a valid cron expression "
            "or timespan string."
        )
    return Schedule(text=text, interval=interval, zone=zone)


def _crontab(text: str) -> Crontab | None:
    try:
        return Crontab.parse(text)
    except ValueError:
        return None


def _instant(wall: datetime, zone: tzinfo | None) -> datetime:
    return wall.replace(tzinfo=zone, fold=0).astimezone(UTC)


def _offset_change(start: datetime, end: datetime, zone: tzinfo | None) -> datetime | None:
    """The first second in (start, end] with another offset than `start`, where `end` has one."""
    first = start.astimezone(zone).utcoffset()
    if end.astimezone(zone).utcoffset() == first:
        return None
    low, high = int(start.timestamp()), int(end.timestamp())
    while high - low > 1:
        middle = (low + high) // 2
        moved = datetime.fromtimestamp(middle, UTC).astimezone(zone).utcoffset() != first
        low, high = (low, middle) if moved else (middle, high)
    return datetime.fromtimestamp(high, UTC)

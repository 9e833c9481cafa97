"""What decides the result of a training run, apart from the data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides the result, apart from the data."""

    seed: int = 20261
    # side, epochs
    stages: tuple[tuple[int, int], ...] = ((128, 80), (160, 50), (192, 25), (224, 6))
    mild_epochs: int = 25  # at the end
    batch: int = 24  # of each process
    peak_rate: float = 2e-3
    warm_up: float = 0.03  # share of all steps
    decay: float = 0.05
    averaging: float = 0.998
    mixed_share: float = 0.3  # of the pictures of a batch
    smoothing: float = 0.08
    balance: float = 0.4  # 0: as the photos come, 1: every class as often
    processes: int = 2  # of one thread each: two threads of one process wait for each other
    second_look: bool = True  # before the last two sizes, labels the network doubts fade

    def side_at(self, epoch: int) -> int:
        """Picture size of an epoch."""
        for side, epochs in self.stages:
            if epoch < epochs:
                return side
            epoch -= epochs
        raise ValueError("past the last epoch")

    @property
    def epochs(self) -> int:
        """All epochs."""
        return sum(epochs for _, epochs in self.stages)

    @property
    def second_look_epoch(self) -> int:
        """The first epoch of the last size but one."""
        return sum(epochs for _, epochs in self.stages[:-2])


QUICK = {"stages": ((128, 9), (160, 6), (192, 3)), "mild_epochs": 3}  # to try things
POLISH = {  # for weights that were trained already: mild changes, no mixing, a small rate
    "stages": ((160, 8), (192, 4)),
    "mild_epochs": 12,
    "peak_rate": 8e-4,
    "averaging": 0.995,
    "second_look": False,
}

"""What decides the result of a training run, apart from the data."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides the result, apart from the data."""

    seed: int = 20261
    stages: tuple[tuple[int, int], ...] = ((128, 26), (160, 14), (192, 4))  # side, epochs
    mild_epochs: int = 5  # at the end
    batch: int = 32
    peak_rate: float = 2e-3
    warm_up: float = 0.05  # share of all steps
    decay: float = 0.05
    averaging: float = 0.998
    mixed_share: float = 0.4  # of the pictures of a batch
    smoothing: float = 0.05
    balance: float = 0.4  # 0: as the photos come, 1: every class as often
    threads: int = 1  # two wait for each other on a busy machine
    second_look: bool = True  # before the last size, photos whose label the network doubts fade

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


QUICK = {"stages": ((128, 9), (160, 6), (192, 3)), "mild_epochs": 3}  # to try things
POLISH = {  # for weights that were trained already: mild changes, no mixing, a small rate
    "stages": ((160, 8), (192, 4)),
    "mild_epochs": 12,
    "peak_rate": 8e-4,
    "averaging": 0.995,
    "second_look": False,
}

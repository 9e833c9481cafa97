"""What decides the result of a training run, apart from the data."""

from collections.abc import Mapping
from dataclasses import dataclass, replace


@dataclass(frozen=True, kw_only=True)
class Plan:
    """Everything that decides the result, apart from the data."""

    seed: int = 20261
    stages: tuple[tuple[int, int], ...]  # side, epochs
    mild_epochs: int = 25  # at the end
    left_out: int = 0  # epochs at the end that are not run; the rate falls as if they were
    batch: int = 24  # of each process
    peak_rate: float = 2e-3
    warm_up: float = 0.03  # share of all steps
    decay: float = 0.05
    averaging: float = 0.998
    mixed_share: float = 0.3  # of the pictures of a batch
    smoothing: float = 0.08
    balance: float = 0.4  # 0: as the photos come, 1: every class as often
    processes: int = 2  # of one thread each: two threads of one process wait for each other
    mask_say: float = 1.0  # weight of the mask's loss beside the category's
    hard: float = 0.0  # power with which photos count for what is missed of them; 0: all the same

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
    def run(self) -> int:
        """The epochs that are run."""
        return self.epochs - self.left_out


# Each round goes on from the weights of the one before, with labels that they had a say in.
ROUNDS = (
    Plan(stages=((128, 80), (160, 50), (192, 25))),
    Plan(stages=((160, 44), (192, 74)), peak_rate=1.5e-3, mixed_share=0.25),
    Plan(
        seed=20263,
        stages=((192, 64), (224, 40)),
        left_out=50,  # the later ones lost more of the hardest photos than they won
        peak_rate=1.2e-3,
        mixed_share=0.2,
        mask_say=3.0,
        hard=0.5,
    ),
)
QUICK_ROUNDS = (
    replace(ROUNDS[0], stages=((128, 9), (160, 6)), mild_epochs=3),
    replace(ROUNDS[1], stages=((160, 6), (192, 3)), mild_epochs=3),
)


def computes_bfloat16(capabilities: Mapping[str, object]) -> bool:
    """Whether the processor of `torch.cpu.get_capabilities()` multiplies bfloat16 itself.

    Others are made to: 25 times slower than float32.
    """
    return bool(capabilities.get("avx512_bf16") or capabilities.get("amx_bf16"))

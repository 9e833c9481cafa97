"""Trains the network: growing picture size, cutmix, an averaged copy of the weights.

One process a core; each sees its share of every step and the gradients are averaged. The last
epochs run without mixing and with milder changes. The validation split is only measured, every few
epochs; what is kept is the averaged network after the last epoch.

A round takes hours, so it keeps its state after every epoch, and one that was killed goes on from
there to the same weights, bit for bit on a machine of its kind: whatever is random comes from the
seed and the epoch.
"""

import json
import math
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.multiprocessing import spawn
from torch.nn import functional
from torch.nn.parallel import DistributedDataParallel
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from training.batches import Batch, batches, cutmix
from training.lessons import Lessons, load_lessons
from training.network import GarmentNet
from training.photos import CLASSES
from training.pixels import normalise
from training.plan import Plan, computes_bfloat16
from training.validation import load_validation, measure

WEIGHTS = "network.pt"
STATE = "state.pt"  # all that the next epoch needs


def mask_loss(logits: Tensor, label: Tensor, weight: Tensor, hard: float) -> Tensor:
    """Cross-entropy plus soft Dice; unsure pixels and untrusted photos count less.

    Photos count with the power `hard` of how much of them is missed, against the batch's median.
    """
    sure = 0.3 + 0.7 * (2 * label - 1).abs()
    entropy = functional.binary_cross_entropy_with_logits(logits, label, reduction="none") * sure
    chance = torch.sigmoid(logits)
    overlap = (chance * label * sure).sum((1, 2, 3))
    total = ((chance + label) * sure).sum((1, 2, 3))
    dice = 1 - (2 * overlap + 1) / (total + 1)
    counted = (weight > 0) & (label.sum((1, 2, 3)) > 1)
    if hard and counted.any():
        missed = dice.detach()
        ratio = missed / (missed[counted].median() + 1e-3)
        weight = torch.where(counted, weight * ratio.clamp(0.3, 4.0) ** hard, weight)
    return ((entropy.mean((1, 2, 3)) + dice) * weight).sum() / (weight.sum() + 1e-6)


def _optimiser(network: nn.Module, plan: Plan) -> torch.optim.Optimizer:
    matrices = [p for p in network.parameters() if p.ndim > 1]
    vectors = [p for p in network.parameters() if p.ndim <= 1]
    groups = [
        {"params": matrices, "weight_decay": plan.decay},
        {"params": vectors, "weight_decay": 0.0},
    ]
    return torch.optim.AdamW(groups, lr=plan.peak_rate)


def _rate(step: int, steps: int, plan: Plan) -> float:
    warm = plan.warm_up * steps
    if step < warm:
        return plan.peak_rate * (step + 1) / warm
    done = (step - warm) / (steps - warm)
    return plan.peak_rate * (0.5 + 0.5 * math.cos(math.pi * done)) + 1e-6


class Trainer:
    """One process's part of a run; `averaged` is the same in all."""

    def __init__(self, plan: Plan, rank: int, lessons: Lessons, start: Path | None) -> None:
        torch.manual_seed(plan.seed)
        torch.set_num_threads(1)
        self.plan = plan
        self.rank = rank
        self.lessons = lessons
        self.bfloat16 = computes_bfloat16(torch.cpu.get_capabilities())
        network = GarmentNet(len(CLASSES)).to(memory_format=torch.channels_last)
        if start is not None:
            network.load_state_dict(torch.load(start, weights_only=True))
        self.averaged = AveragedModel(
            network, multi_avg_fn=get_ema_multi_avg_fn(plan.averaging), use_buffers=True
        )
        self.network = DistributedDataParallel(network)
        self.optimiser = _optimiser(self.network, plan)
        self.steps = plan.epochs * (len(lessons.labels) // (plan.batch * plan.processes))
        self.step = 0

    def run_epoch(self, epoch: int) -> tuple[float, float]:
        """Trains one epoch; mean mask and category losses."""
        torch.manual_seed(self.plan.seed + 1000 * self.rank + epoch)
        rng = np.random.default_rng([self.plan.seed, epoch, self.rank, 1])
        mixed = self.plan.mixed_share if epoch < self.plan.epochs - self.plan.mild_epochs else 0.0
        self.network.train()
        losses = [
            self._train_on(cutmix(batch, mixed, rng))
            for batch in batches(self.lessons, self.plan, epoch, self.rank)
        ]
        return tuple(np.mean(losses, 0).tolist())

    def _train_on(self, batch: Batch) -> tuple[float, float]:
        rate = _rate(min(self.step, self.steps), self.steps, self.plan)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast("cpu", torch.bfloat16, enabled=self.bfloat16):
            mask, category = self.network(normalise(batch.rgb))
        for_mask = mask_loss(mask.float(), batch.mask, batch.mask_weight, self.plan.hard)
        for_category = functional.cross_entropy(category.float(), batch.target)
        self.optimiser.zero_grad(set_to_none=True)
        (self.plan.mask_say * for_mask + for_category).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimiser.step()
        if self.step >= self.plan.warm_up * self.steps:
            self.averaged.update_parameters(self.network.module)
        self.step += 1
        return for_mask.item(), for_category.item()

    def keep(self, state: Path, epoch: int, seconds: int) -> None:
        """Writes what `take_up` reads; all of it or nothing."""
        parts = {name: part.state_dict() for name, part in self._parts().items()}
        parts |= {"plan": json.dumps(asdict(self.plan)), "seconds": seconds}
        parts |= {"step": self.step, "epoch": epoch}
        partial = state.with_suffix(".partial")
        torch.save(parts, partial)
        partial.replace(state)

    def take_up(self, state: Path) -> tuple[int, int]:
        """The next epoch and the seconds spent before it; 0 and 0 without a state.

        Raises ValueError where the state is of another plan.
        """
        if not state.exists():
            return 0, 0
        kept = torch.load(state, weights_only=True)
        if kept["plan"] != json.dumps(asdict(self.plan)):
            raise ValueError(f"{state} is of another plan: take another folder, or remove it")
        for name, part in self._parts().items():
            part.load_state_dict(kept[name])
        self.step = kept["step"]
        return kept["epoch"] + 1, kept["seconds"]

    def _parts(self) -> dict[str, nn.Module | torch.optim.Optimizer]:
        network = self.network.module
        return {"network": network, "averaged": self.averaged, "optimiser": self.optimiser}


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run reads and where it writes."""

    lessons: Path  # what `training.teach` wrote
    validation: Path  # folder of photos and masks
    out: Path  # gets the weights, the state and log.jsonl
    start: Path | None = None  # weights to go on from; None: from nothing


def train(plan: Plan, run: Run) -> Path:
    """Runs the plan in `plan.processes` processes; the file of the averaged weights.

    Goes on where `run.out` holds a part of it.
    """
    run.out.mkdir(parents=True, exist_ok=True)
    (run.out / "meeting").unlink(missing_ok=True)
    spawn(_train_part, (plan, run), plan.processes)
    return run.out / WEIGHTS


def _train_part(rank: int, plan: Plan, run: Run) -> None:
    meeting = (run.out / "meeting").absolute().as_uri()
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=plan.processes)
    trainer = Trainer(plan, rank, load_lessons(run.lessons), run.start)
    first, spent = trainer.take_up(run.out / STATE)
    log = _Log(run, spent) if rank == 0 else None
    for epoch in range(first, plan.run):
        losses = trainer.run_epoch(epoch)
        if log is not None:
            log.write(trainer, epoch, losses)
            trainer.keep(run.out / STATE, epoch, log.seconds())
    distributed.destroy_process_group()


class _Log:
    """Measures and keeps the averaged network every few epochs."""

    def __init__(self, run: Run, spent: int) -> None:
        self._run = run
        self._validation = load_validation(run.validation)
        self._started = time.monotonic() - spent

    def seconds(self) -> int:
        """Spent on the round so far."""
        return round(time.monotonic() - self._started)

    def write(self, trainer: Trainer, epoch: int, losses: tuple[float, float]) -> None:
        """One line of log.jsonl."""
        side, last = trainer.plan.side_at(epoch), epoch == trainer.plan.run - 1
        entry = {"epoch": epoch, "side": side, "mask": losses[0], "category": losses[1]}
        entry["seconds"] = self.seconds()
        if epoch % 6 == 5 or last:
            entry |= measure(trainer.averaged.module, self._validation, side)
            torch.save(trainer.averaged.module.state_dict(), self._run.out / WEIGHTS)
        with (self._run.out / "log.jsonl").open("a") as log:
            print(json.dumps(entry), file=log)
        print(json.dumps(entry), flush=True)

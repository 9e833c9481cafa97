"""Trains the network: growing picture size, cutmix, an averaged copy of the weights.

One process a core; each sees its share of every step and the gradients are averaged. The last
epochs run without mixing and with milder changes. The validation split is only measured, every few
epochs; what is kept is the averaged network after the last epoch.
"""

import json
import time
from dataclasses import asdict, dataclass, replace
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
from training.photos import CLASSES, squash
from training.pixels import normalise
from training.plan import Plan
from training.validation import load_validation, measure, overlap

WEIGHTS = "network.pt"


def mask_loss(logits: Tensor, label: Tensor, weight: Tensor) -> Tensor:
    """Cross-entropy plus soft Dice; unsure pixels and untrusted photos count less."""
    sure = 0.3 + 0.7 * (2 * label - 1).abs()
    entropy = functional.binary_cross_entropy_with_logits(logits, label, reduction="none") * sure
    chance = torch.sigmoid(logits)
    overlap = (chance * label * sure).sum((1, 2, 3))
    total = ((chance + label) * sure).sum((1, 2, 3))
    dice = 1 - (2 * overlap + 1) / (total + 1)
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
    return plan.peak_rate * (0.5 + 0.5 * np.cos(np.pi * done)) + 1e-6


class Trainer:
    """One process's part of a run; `averaged` is the same in all."""

    def __init__(self, plan: Plan, rank: int, photos: int, start: Path | None) -> None:
        torch.manual_seed(plan.seed)
        torch.set_num_threads(1)
        self.plan = plan
        self.rank = rank
        network = GarmentNet(len(CLASSES)).to(memory_format=torch.channels_last)
        if start is not None:
            network.load_state_dict(torch.load(start, weights_only=True))
        self.averaged = AveragedModel(
            network, multi_avg_fn=get_ema_multi_avg_fn(plan.averaging), use_buffers=True
        )
        self.network = DistributedDataParallel(network)
        self.optimiser = _optimiser(self.network, plan)
        self.steps = plan.epochs * (photos // (plan.batch * plan.processes))
        self.step = 0

    def run_epoch(self, lessons: Lessons, epoch: int) -> tuple[float, float]:
        """Trains one epoch; mean mask and category losses."""
        rng = np.random.default_rng([self.plan.seed, epoch, self.rank, 1])
        mixed = self.plan.mixed_share if epoch < self.plan.epochs - self.plan.mild_epochs else 0.0
        self.network.train()
        losses = [
            self._train_on(cutmix(batch, mixed, rng))
            for batch in batches(lessons, self.plan, epoch, self.rank)
        ]
        return tuple(np.mean(losses, 0).tolist())

    def _train_on(self, batch: Batch) -> tuple[float, float]:
        rate = _rate(min(self.step, self.steps), self.steps, self.plan)
        for group in self.optimiser.param_groups:
            group["lr"] = rate
        with torch.autocast("cpu", torch.bfloat16):
            mask, category = self.network(normalise(batch.rgb))
        for_mask = mask_loss(mask.float(), batch.mask, batch.mask_weight)
        for_category = functional.cross_entropy(category.float(), batch.target)
        self.optimiser.zero_grad(set_to_none=True)
        (for_mask + for_category).backward()
        nn.utils.clip_grad_norm_(self.network.parameters(), 5.0)
        self.optimiser.step()
        if self.step >= self.plan.warm_up * self.steps:
            self.averaged.update_parameters(self.network.module)
        self.step += 1
        return for_mask.item(), for_category.item()


def second_look(network: nn.Module, lessons: Lessons, side: int) -> Lessons:
    """Trust times the network's own agreement with each label: 1 from an IoU of 0.9, 0.05 at 0.6.

    What the teacher gets wrong once, a network that saw three thousand photos often gets right.
    """
    network.eval()
    agreement = np.empty(len(lessons.labels), np.float32)
    for place, rgbm in enumerate(lessons.rgbm):
        small = squash(rgbm, side)
        with torch.inference_mode():
            mask, _ = network(normalise(torch.from_numpy(small[None, ..., :3])))
        label = squash(small[..., 3], side // 2) > 127
        agreement[place] = overlap((mask[0, 0] > 0).numpy(), label)
    agreed = torch.from_numpy(agreement)
    distributed.broadcast(agreed, 0)  # each process averaged its own batch norms
    fade = np.clip((agreed.numpy() - 0.6) / 0.3, 0.05, 1.0)
    if distributed.get_rank() == 0:
        print(f"second look: {(fade < 0.5).sum()} labels doubted", flush=True)
    return replace(lessons, trust=lessons.trust * fade)


@dataclass(frozen=True, kw_only=True)
class Run:
    """What a run reads and where it writes."""

    lessons: Path  # what `training.teach` wrote
    validation: Path  # folder of photos and masks
    out: Path  # gets the weights, log.jsonl and plan.json
    start: Path | None = None  # weights to go on from; None: from nothing


def train(plan: Plan, run: Run) -> Path:
    """Runs the plan in `plan.processes` processes; the file of the averaged weights."""
    run.out.mkdir(parents=True, exist_ok=True)
    (run.out / "plan.json").write_text(json.dumps(asdict(plan), indent=2))
    for left in ("meeting", "log.jsonl"):
        (run.out / left).unlink(missing_ok=True)
    spawn(_train_part, (plan, run), plan.processes)
    return run.out / WEIGHTS


def _train_part(rank: int, plan: Plan, run: Run) -> None:
    meeting = (run.out / "meeting").absolute().as_uri()
    distributed.init_process_group("gloo", meeting, rank=rank, world_size=plan.processes)
    lessons = load_lessons(run.lessons)
    trainer = Trainer(plan, rank, len(lessons.labels), run.start)
    log = _Log(run) if rank == 0 else None
    for epoch in range(plan.epochs):
        if epoch == plan.second_look_epoch:
            lessons = second_look(trainer.averaged.module, lessons, plan.side_at(epoch))
        losses = trainer.run_epoch(lessons, epoch)
        if log is not None:
            log.write(trainer, epoch, losses)
    distributed.destroy_process_group()


class _Log:
    """Measures and keeps the averaged network every few epochs."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._validation = load_validation(run.validation)
        self._started = time.monotonic()

    def write(self, trainer: Trainer, epoch: int, losses: tuple[float, float]) -> None:
        """One line of log.jsonl."""
        side, last = trainer.plan.side_at(epoch), epoch == trainer.plan.epochs - 1
        entry = {"epoch": epoch, "side": side, "mask": losses[0], "category": losses[1]}
        entry["seconds"] = round(time.monotonic() - self._started)
        if epoch % 6 == 5 or last:
            entry |= measure(trainer.averaged.module, self._validation, side)
            torch.save(trainer.averaged.module.state_dict(), self._run.out / WEIGHTS)
        with (self._run.out / "log.jsonl").open("a") as log:
            print(json.dumps(entry), file=log)
        print(json.dumps(entry), flush=True)

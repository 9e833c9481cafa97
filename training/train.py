"""Trains the network from nothing: growing picture size, cutmix, an averaged copy of the weights.

The last epochs run without mixing and with milder changes. The validation split is only measured,
every few epochs; what is kept is the averaged network after the last epoch.
"""

import json
import time
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from training.batches import Batch, batches, cutmix
from training.lessons import Lessons
from training.network import GarmentNet
from training.photos import CLASSES, squash
from training.pixels import normalise
from training.plan import Plan
from training.validation import Validation, measure, overlap


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
    """The state of one run."""

    def __init__(self, plan: Plan, photos: int, start: Path | None) -> None:
        torch.manual_seed(plan.seed)
        torch.set_num_threads(plan.threads)
        self.plan = plan
        self.network = GarmentNet(len(CLASSES)).to(memory_format=torch.channels_last)
        if start is not None:
            self.network.load_state_dict(torch.load(start, weights_only=True))
        self.averaged = AveragedModel(
            self.network, multi_avg_fn=get_ema_multi_avg_fn(plan.averaging), use_buffers=True
        )
        self.optimiser = _optimiser(self.network, plan)
        self.steps = plan.epochs * (photos // plan.batch)
        self.step = 0

    def run_epoch(self, lessons: Lessons, epoch: int) -> tuple[float, float]:
        """Trains one epoch; mean mask and category losses."""
        rng = np.random.default_rng([self.plan.seed, epoch, 1])
        mixed = self.plan.mixed_share if epoch < self.plan.epochs - self.plan.mild_epochs else 0.0
        self.network.train()
        losses = [
            self._train_on(cutmix(batch, mixed, rng))
            for batch in batches(lessons, self.plan, epoch)
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
            self.averaged.update_parameters(self.network)
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
    fade = np.clip((agreement - 0.6) / 0.3, 0.05, 1.0)
    print(f"second look: {(agreement < 0.75).sum()} labels doubted", flush=True)
    return replace(lessons, trust=lessons.trust * fade)


def train(
    lessons: Lessons, validation: Validation, plan: Plan, out: Path, start: Path | None = None
) -> None:
    """Runs the plan, from nothing or from the weights at `start`.

    Writes `network.pt` (averaged weights), `log.jsonl` and `plan.json` into `out`.
    """
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(asdict(plan), indent=2))
    trainer = Trainer(plan, len(lessons.labels), start)
    started = time.monotonic()
    with (out / "log.jsonl").open("w") as log:
        for epoch in range(plan.epochs):
            if plan.second_look and epoch == plan.epochs - plan.stages[-1][1]:
                lessons = second_look(trainer.averaged.module, lessons, plan.side_at(epoch))
            mask, category = trainer.run_epoch(lessons, epoch)
            entry = {
                "epoch": epoch,
                "side": plan.side_at(epoch),
                "mask": mask,
                "category": category,
            }
            entry["seconds"] = round(time.monotonic() - started)
            if epoch % 6 == 5 or epoch == plan.epochs - 1:
                entry |= measure(trainer.averaged.module, validation, plan.side_at(epoch))
                torch.save(trainer.averaged.module.state_dict(), out / "network.pt")
            print(json.dumps(entry), file=log, flush=True)
            print(json.dumps(entry), flush=True)

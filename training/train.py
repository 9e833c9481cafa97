"""Trains the network from nothing: growing picture size, cutmix, an averaged copy of the weights.

The last epochs run without mixing and with milder changes. The validation split is only measured,
every few epochs; what is kept is the averaged network after the last epoch.
"""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

from training.augment import Chances, Example, random_example
from training.lessons import Lessons
from training.network import GarmentNet
from training.photos import CLASSES, squash
from training.pixels import normalise
from training.validation import Validation, measure, overlap

MILD = Chances(
    new_background=0.15, stripes=0.04, low_contrast=0.04, erase=0.1, turn=10.0, zoom=0.18
)


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


@dataclass(frozen=True, kw_only=True)
class Batch:
    """Tensors of one step."""

    rgb: Tensor  # uint8 [N,S,S,3]
    mask: Tensor  # float [N,1,S/2,S/2]
    mask_weight: Tensor  # float [N]
    target: Tensor  # float [N,C]
    pooled: Tensor  # bool [N]: may be mixed with others


def epoch_order(labels: np.ndarray, balance: float, rng: np.random.Generator) -> np.ndarray:
    """As many photos as there are, drawn so that rare classes come up more often."""
    counts = np.bincount(labels, minlength=len(CLASSES))
    wanted = (counts[labels] / counts.max()) ** -balance
    shares = wanted / wanted.sum() * len(labels)
    whole = np.repeat(
        np.arange(len(labels)), np.floor(shares + rng.random(len(labels))).astype(int)
    )
    return rng.permutation(whole)


def _batch(examples: list[Example], smoothing: float) -> Batch:
    labels = torch.tensor([example.label for example in examples])
    known = labels >= 0
    target = torch.full((len(examples), len(CLASSES)), 1 / len(CLASSES))
    sharp = functional.one_hot(labels[known], len(CLASSES)).float()
    target[known] = sharp * (1 - smoothing) + smoothing / len(CLASSES)
    masks = torch.from_numpy(np.stack([example.mask for example in examples]))
    return Batch(
        rgb=torch.from_numpy(np.stack([example.rgb for example in examples])),
        mask=masks[:, None].float() / 255,
        mask_weight=torch.tensor([example.mask_weight for example in examples]),
        target=target,
        pooled=known,
    )


def batches(lessons: Lessons, plan: Plan, epoch: int) -> Iterator[Batch]:
    """One epoch, made a few batches ahead in a thread; every picture has its own seed."""
    order = epoch_order(lessons.labels, plan.balance, np.random.default_rng([plan.seed, epoch]))
    side = plan.side_at(epoch)
    chances = MILD if epoch >= plan.epochs - plan.mild_epochs else Chances()

    def make(start: int) -> Batch:
        chosen = order[start : start + plan.batch]
        seeds = [[plan.seed, epoch, start, place] for place in range(len(chosen))]
        examples = [
            random_example(lessons, int(photo), side, chances, np.random.default_rng(seed))
            for photo, seed in zip(chosen, seeds, strict=True)
        ]
        return _batch(examples, plan.smoothing)

    starts = range(0, len(order) - plan.batch + 1, plan.batch)
    with ThreadPoolExecutor(1) as pool:
        ahead = [pool.submit(make, start) for start in starts[:4]]
        for start in starts:
            yield ahead.pop(0).result()
            if start + 4 * plan.batch in starts:
                ahead.append(pool.submit(make, start + 4 * plan.batch))


def cutmix(batch: Batch, share: float, rng: np.random.Generator) -> Batch:
    """A rectangle of another picture in some; those teach the category only (Yun et al., 2019)."""
    rgb, target, weight = batch.rgb.clone(), batch.target.clone(), batch.mask_weight.clone()
    side = rgb.shape[1]
    pool = np.flatnonzero(batch.pooled.numpy())
    count = int(len(pool) * share)
    places, others = rng.permutation(pool)[:count], rng.permutation(pool)[:count]
    for place, other in zip(places, others, strict=True):
        kept = float(rng.beta(1.0, 1.0))
        size = int(side * np.sqrt(1 - kept))
        top, left = rng.integers(0, side - size + 1, 2)
        area = (slice(top, top + size), slice(left, left + size))
        rgb[place][area] = batch.rgb[other][area]
        share_other = size * size / (side * side)
        target[place] = (1 - share_other) * batch.target[place] + share_other * batch.target[other]
        weight[place] = 0.0
    return Batch(rgb=rgb, mask=batch.mask, mask_weight=weight, target=target, pooled=batch.pooled)


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

    def __init__(self, plan: Plan, photos: int) -> None:
        torch.manual_seed(plan.seed)
        torch.set_num_threads(plan.threads)
        self.plan = plan
        self.network = GarmentNet(len(CLASSES)).to(memory_format=torch.channels_last)
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


def train(lessons: Lessons, validation: Validation, plan: Plan, out: Path) -> None:
    """Runs the plan; writes `network.pt` (averaged weights) and `log.jsonl` into `out`."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "plan.json").write_text(json.dumps(asdict(plan), indent=2))
    trainer = Trainer(plan, len(lessons.labels))
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

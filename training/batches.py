"""Batches: which photos, in which order, and how their pictures and labels are mixed."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from training.augment import Chances, Example, random_example
from training.lessons import Lessons
from training.photos import CLASSES
from training.plan import Plan

MILD = Chances(
    new_background=0.15, pattern=0.06, low_contrast=0.04, erase=0.1, turn=10.0, zoom=0.18
)


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


def batches(lessons: Lessons, plan: Plan, epoch: int, rank: int) -> Iterator[Batch]:
    """One epoch's share of process `rank`, made a few batches ahead in a thread.

    Every picture has its own seed; all processes see the same number of batches.
    """
    order = epoch_order(lessons.labels, plan.balance, np.random.default_rng([plan.seed, epoch]))
    steps = len(order) // (plan.batch * plan.processes)
    order = order[: steps * plan.batch * plan.processes][rank :: plan.processes]
    side = plan.side_at(epoch)
    chances = MILD if epoch >= plan.epochs - plan.mild_epochs else Chances()

    def make(start: int) -> Batch:
        chosen = order[start : start + plan.batch]
        seeds = [[plan.seed, epoch, rank, start, place] for place in range(len(chosen))]
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

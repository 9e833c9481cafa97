"""The network: one residual encoder, a light decoder for the mask, a pooled head for the category.

The decoder is a feature pyramid: top down, with lateral links (Lin et al., 2017).

The category head pools the deepest features twice, over the whole picture and over the predicted
garment, so that a busy room counts less than what lies on the bed in it.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

STRIDE = 32  # the input's sides must be multiples of it


@dataclass(frozen=True, kw_only=True)
class Widths:
    """Channels of the stem and the four stages, and residual blocks per stage."""

    stem: int = 16
    stages: tuple[int, int, int, int] = (32, 96, 192, 288)
    blocks: tuple[int, int, int, int] = (2, 3, 2, 2)
    decoder: int = 64
    dropout: float = 0.2


def _conv(inputs: int, outputs: int, stride: int = 1, size: int = 3) -> nn.Sequential:
    padding = size // 2
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, size, stride, padding, bias=False), nn.BatchNorm2d(outputs)
    )


class SqueezeExcite(nn.Module):
    """Channel gates from the pooled picture (Hu et al., 2018)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        hidden = max(8, channels // 8)
        self.reduce = nn.Conv2d(channels, hidden, 1)
        self.expand = nn.Conv2d(hidden, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        pooled = functional.adaptive_avg_pool2d(x, 1)
        return x * torch.sigmoid(self.expand(functional.relu(self.reduce(pooled))))


class Block(nn.Module):
    """Two 3x3 convolutions beside a shortcut (He et al., 2016), gated where `gated`.

    A new block passes on what it gets: its last scale starts at nought (Goyal et al., 2017).
    """

    def __init__(self, inputs: int, outputs: int, stride: int, gated: bool) -> None:
        super().__init__()
        self.first = _conv(inputs, outputs, stride)
        self.second = _conv(outputs, outputs)
        nn.init.zeros_(self.second[1].weight)
        self.gate = SqueezeExcite(outputs) if gated else nn.Identity()
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or inputs != outputs:
            pool = nn.AvgPool2d(stride) if stride > 1 else nn.Identity()
            self.shortcut = nn.Sequential(pool, _conv(inputs, outputs, size=1))

    def forward(self, x: Tensor) -> Tensor:
        inner = self.second(functional.relu(self.first(x)))
        return functional.relu(self.shortcut(x) + self.gate(inner))


class GarmentNet(nn.Module):
    """RGB in [N,3,S,S], normalised; mask logits [N,1,S/2,S/2] and category logits [N,C] out."""

    def __init__(self, classes: int, widths: Widths = Widths()) -> None:
        super().__init__()
        self.stem = nn.Sequential(*_conv(3, widths.stem, 2), nn.ReLU())
        self.stages = nn.ModuleList()
        channels = widths.stem
        for depth, (width, count) in enumerate(zip(widths.stages, widths.blocks, strict=True)):
            blocks = [Block(channels, width, 2, depth >= 2)]
            blocks += [Block(width, width, 1, depth >= 2) for _ in range(count - 1)]
            self.stages.append(nn.Sequential(*blocks))
            channels = width
        decoder = widths.decoder
        self.laterals = nn.ModuleList(_conv(width, decoder, size=1) for width in widths.stages)
        self.merges = nn.ModuleList(_conv(decoder, decoder) for _ in widths.stages[:-1])
        self.fine_lateral = _conv(widths.stem, decoder // 2, size=1)
        self.fine_down = _conv(decoder, decoder // 2, size=1)
        self.fine = nn.Sequential(*_conv(decoder // 2, 16), nn.ReLU())
        self.mask = nn.Conv2d(16, 1, 3, padding=1)
        self.drop = nn.Dropout(widths.dropout)
        self.category = nn.Linear(2 * channels, classes)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        fine = self.stem(x)
        features = []
        deep = fine
        for stage in self.stages:
            deep = stage(deep)
            features.append(deep)
        mask = self._decode(features, fine)
        return mask, self._categorise(deep, mask.detach())

    def _decode(self, features: list[Tensor], fine: Tensor) -> Tensor:
        merged = functional.relu(self.laterals[-1](features[-1]))
        for depth in (2, 1, 0):
            raised = functional.interpolate(merged, scale_factor=2.0, mode="nearest")
            joined = functional.relu(raised + self.laterals[depth](features[depth]))
            merged = functional.relu(joined + self.merges[depth](joined))
        raised = functional.interpolate(self.fine_down(merged), scale_factor=2.0, mode="nearest")
        return self.mask(self.fine(functional.relu(raised + self.fine_lateral(fine))))

    def _categorise(self, deep: Tensor, mask: Tensor) -> Tensor:
        garment = functional.avg_pool2d(torch.sigmoid(mask), STRIDE // 2)
        shares = garment.flatten(2) / (garment.sum((2, 3), keepdim=True).flatten(2) + 0.5)
        over_garment = torch.matmul(deep.flatten(2), shares.transpose(1, 2)).flatten(1)
        pooled = torch.cat([functional.adaptive_avg_pool2d(deep, 1).flatten(1), over_garment], 1)
        return self.category(self.drop(pooled))

"""How pixels become numbers for the network; written into the model's description too."""

import torch
from torch import Tensor

PIXEL_MEAN, PIXEL_STD = 118.0, 62.0  # about those of the training photos, all channels alike


def normalise(rgb: Tensor) -> Tensor:
    """uint8 [N,S,S,3] to what the network reads, float32 [N,3,S,S]."""
    planes = rgb.permute(0, 3, 1, 2).float()
    return ((planes - PIXEL_MEAN) / PIXEL_STD).contiguous(memory_format=torch.channels_last)

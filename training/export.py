"""Writes the trained network as ONNX: batch norms folded in, weights as 8-bit integers.

Only the weights are 8-bit (one scale per output channel, DequantizeLinear in the file); a runtime
unfolds them at load and calculates in float32, so the file shrinks and the speed stays.
"""

import copy
from pathlib import Path

import numpy as np
import onnx
import torch
from onnx import helper, numpy_helper
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from training.network import STRIDE, GarmentNet
from training.photos import CLASSES

OPSET = 17
_LEAST_WEIGHTS = 1024  # smaller tensors stay float32
_LARGEST = 127  # largest 8-bit weight, either way


class Deployed(nn.Module):
    """The network as the app calls it: garment probability and category logits."""

    def __init__(self, network: GarmentNet) -> None:
        super().__init__()
        self.network = network

    def forward(self, rgb: Tensor) -> tuple[Tensor, Tensor]:
        mask, category = self.network(rgb)
        return torch.sigmoid(mask), category


def load_network(weights: Path) -> GarmentNet:
    """The network with trained weights, ready to be asked."""
    network = GarmentNet(len(CLASSES))
    network.load_state_dict(torch.load(weights, weights_only=True))
    return network.eval()


def fold_batch_norms(network: nn.Module) -> nn.Module:
    """A copy in which every convolution carries its batch norm in its own weights."""
    folded = copy.deepcopy(network).eval()
    for module in list(folded.modules()):
        if isinstance(module, nn.Sequential):
            _fold_pairs(module)
    return folded


def _fold_pairs(sequence: nn.Sequential) -> None:
    for place in range(len(sequence) - 1):
        first, second = sequence[place], sequence[place + 1]
        if isinstance(first, nn.Conv2d) and isinstance(second, nn.BatchNorm2d):
            sequence[place] = fuse_conv_bn_eval(first, second)
            sequence[place + 1] = nn.Identity()


def export(weights: Path, path: Path) -> None:
    """Reads a state dict, writes one ONNX file for squares of any multiple of `STRIDE`."""
    deployed = Deployed(fold_batch_norms(load_network(weights))).eval()
    torch.onnx.export(
        deployed,
        (torch.zeros(1, 3, 6 * STRIDE, 6 * STRIDE),),
        str(path),
        input_names=["rgb"],
        output_names=["mask", "category"],
        dynamic_axes={"rgb": {2: "side", 3: "side"}, "mask": {2: "half", 3: "half"}},
        opset_version=OPSET,
        dynamo=False,
    )
    model = onnx.load(str(path))
    shrink_weights(model)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def shrink_weights(model: onnx.ModelProto) -> None:
    """Replaces large float32 weights by 8-bit ones and a DequantizeLinear each, in place."""
    graph = model.graph
    for tensor in list(graph.initializer):
        values = numpy_helper.to_array(tensor)
        if values.dtype != np.float32 or values.size < _LEAST_WEIGHTS or values.ndim < 2:
            continue
        graph.initializer.remove(tensor)
        _add_quantised(graph, tensor.name, values)


def _add_quantised(graph: onnx.GraphProto, name: str, values: np.ndarray) -> None:
    scales = np.abs(values).reshape(len(values), -1).max(1).astype(np.float32) / _LARGEST
    scales = np.maximum(scales, 1e-12)
    whole = np.round(values / scales.reshape(-1, *[1] * (values.ndim - 1))).astype(np.int8)
    parts = {"whole": whole, "scale": scales, "zero": np.zeros(len(values), np.int8)}
    for part, array in parts.items():
        graph.initializer.append(numpy_helper.from_array(array, f"{name}.{part}"))
    inputs = [f"{name}.{part}" for part in parts]
    graph.node.insert(0, helper.make_node("DequantizeLinear", inputs, [name], axis=0))

"""Where a network's gradient jumps, and weights that keep clear of it.

The gradient of a ReLU jumps as its input passes zero. Of some million inputs a few lie within rounding of zero, and
each that falls on the other side moves gradients by some 1e-3. Measured on wrn28-2, eight samples, PyTorch against its
own float64: float32 differs by 4e-6 where all 3.8 million inputs keep their signs, and by 1e-2 where three do not, as
happens when only the memory format is changed. Two correct implementations could be compared to a percent only, and a
fault of a tenth of a percent would hide. So zero is moved: the bias before each ReLU is shifted, channel by channel, to
the middle of the widest gap between the channel's inputs near zero. That leaves 1e-4 to 2e-3 of a layer's size;
rounding moves an input by 2e-5 at most.

ReLU6 jumps at six too; a shift keeps clear of both edges.

A maximum over a window jumps as two inputs trade places. No bias helps there, but pools mostly stand near the input,
where rounding is small, and a batch can be picked.
"""
import contextlib

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

WINDOW = 0.2  # how far a bias may be shifted, as a share of the channel's size
SHIFTED = (nn.BatchNorm2d, nn.GroupNorm, nn.Linear, nn.Conv2d, nn.ConvTranspose2d)
RECTIFIERS = (nn.ReLU, nn.ReLU6)


def edges_of(module):
    return (0.0, 6.0) if isinstance(module, nn.ReLU6) else (0.0,)


@contextlib.contextmanager
def hooked(model, kinds, add):
    handles = [add(module) for module in model.modules() if isinstance(module, kinds)]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextlib.contextmanager
def watched(model):
    """A list that fills, as the model runs, with how near each rectifier's inputs come to an edge, relative to their size."""
    distances = []

    def on_relu(module, inputs):
        x = inputs[0].detach()
        distances.extend(((x - edge).abs().min() / x.square().mean().sqrt()).item() for edge in edges_of(module))

    with hooked(model, RECTIFIERS, lambda module: module.register_forward_pre_hook(on_relu)):
        yield distances


def pool_distance(model, images):
    """How near the winner of a pooling window is to its rival, relative to the layer's size."""
    found = []

    def on_pool(module, inputs):
        x = inputs[0]
        # Behind a rectifier zeros change nothing, neither as padding nor for a last window that hangs over.
        over = module.stride if module.ceil_mode else 0
        padded = F.pad(x.flatten(0, 1).unsqueeze(1), (module.padding, module.padding + over) * 2)
        windows = F.unfold(padded, module.kernel_size, stride=module.stride)
        first, second = windows.topk(2, dim=1).values.unbind(dim=1)
        gap = (first - second)[first > 0]  # where all are zero the ReLU before it passes no gradient
        found.append((gap.min() / x.square().mean().sqrt()).item())

    with hooked(model, nn.MaxPool2d, lambda module: module.register_forward_pre_hook(on_pool)), torch.no_grad():
        model(images)
    return min(found, default=np.inf)


def widest_gap(values, edges):
    """The middle of the widest gap between neighbours near the edges, all edges laid over each other."""
    reach_of = WINDOW * np.sqrt(np.mean(np.square(values)))
    values = np.sort(np.concatenate([values - edge for edge in edges]))
    inside = values[np.abs(values) < reach_of]
    inside = np.concatenate(([-reach_of], inside, [reach_of]))
    widest = np.argmax(np.diff(inside))
    return (inside[widest] + inside[widest + 1]) / 2


def keep_clear(model, images):
    """Shifts, in place, the bias of the layer that runs right before each ReLU, so that every input of every ReLU keeps
    clear of zero when `images` come. One pass: what is behind a shift already sees it. Returns the shifts by parameter
    name; they are float32 numbers."""
    names = {parameter: name for name, parameter in model.named_parameters()}
    ran, shifts = [], {}

    def on_layer(module, *_):
        if module.bias is not None:
            ran.append(module)

    def on_relu(module, inputs):
        x, bias = inputs[0], ran[-1].bias
        channels = x.transpose(0, 1).flatten(1).double().numpy()
        shift = -torch.tensor([widest_gap(values, edges_of(module)) for values in channels], dtype=torch.float32)
        shifts[names[bias]] = shift
        bias.add_(shift)
        return x + shift.to(x.dtype).reshape(1, -1, *[1] * (x.dim() - 2))

    with hooked(model, SHIFTED, lambda module: module.register_forward_hook(on_layer)):
        with hooked(model, RECTIFIERS, lambda module: module.register_forward_pre_hook(on_relu)), torch.no_grad():
            model(images)
    return shifts

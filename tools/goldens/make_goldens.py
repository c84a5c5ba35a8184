#!/usr/bin/env python3
"""Asks PyTorch what every built-in network computes and stores the answers in tests/goldens, small enough to be committed.

    python tools/goldens/make_goldens.py [CASE...]        needs torch==2.13.0 and numpy; two minutes on two cores

A case is NAME.json, the recipe, and NAME.safetensors, the answers. Weights, images and labels are not stored: both sides
draw them from the counter-based generator (philox.py, src/base/random.h). One batch gives

    logits, loss                  in training mode
    gradient/TENSOR               of the loss
and ten steps from the same weights, for each optimizer,
    OPTIMIZER/losses              of the ten steps
    OPTIMIZER/TENSOR              parameters and running statistics afterwards
    OPTIMIZER/evaluation_logits   of the first batch in evaluation mode afterwards

PyTorch computes in float64, from the float32 weights and inputs: the judge's own rounding must not eat the tolerance. How far
PyTorch's own float32 is from these answers, per group of tensors, stands in the recipe as `float32_error`.

Gradients jump where the input of a ReLU changes its sign: of some million inputs a few lie within rounding of zero, and each of
them moves gradients by some 1e-3 from one correct implementation to the next, PyTorch's two memory formats among them. So batches
are picked: of several the one that stays farthest from any such edge; the recipe names it. Ten steps in turn amplify what
little is left, faster with a larger learning rate: deep networks take small ones, and the tests look at the movement of the
weights as well as at the weights.

A tensor of more than 128 elements is stored as its count sketch: element i (in PyTorch's order) is added to one of 128 sums
with a random sign. The sketch is linear and keeps L2 norms, |sketch(a) - sketch(b)| = |a - b| within some percent, and no
element escapes it.
"""
import copy
import functools
import json
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import networks
from philox import TEST, random_bits, random_key, random_normal, random_uniform
from tensor_file import write_tensors

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "goldens")
STEPS = 10
CANDIDATES = 32
SKETCH = 128
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "weight_decay": 5e-4},
    "momentum": {"learning_rate": 0.02, "weight_decay": 5e-4},
    "nesterov": {"learning_rate": 0.02, "weight_decay": 5e-4},
    "adamw": {"learning_rate": 0.0002, "weight_decay": 0.05},
}


def case(network, sample, batch, classes=10, smoothing=0.0, slower=1, optimizers=tuple(OPTIMIZERS)):
    slowed = {name: OPTIMIZERS[name] | {"learning_rate": OPTIMIZERS[name]["learning_rate"] / slower} for name in optimizers}
    return {"network": network, "sample": sample, "batch": batch, "classes": classes, "label_smoothing": smoothing,
            "seed": 1, "steps": STEPS, "optimizers": slowed}


CASES = {
    "wrn10-1": case("wrn10-1", [16, 16, 3], 8),
    "wrn10-1-gn": case("wrn10-1-gn", [16, 16, 3], 6, classes=7),
    "wrn16-1-smoothed": case("wrn16-1", [16, 16, 3], 8, smoothing=0.1),
    "resnet18-gn-16": case("resnet18-gn", [16, 16, 3], 4, slower=10, optimizers=("nesterov",)),
    "wrn28-2": case("wrn28-2", [32, 32, 3], 8, slower=100),
    "wrn28-2-gn": case("wrn28-2-gn", [32, 32, 3], 8, slower=10),
    "resnet18-32": case("resnet18", [32, 32, 3], 4, slower=10),
    "resnet18-224": case("resnet18", [224, 224, 3], 2, classes=20, slower=10, optimizers=("nesterov",)),
    "lenet-300-100": case("lenet-300-100", [28, 28, 1], 32),
}


def draw_batch(recipe, index, dtype):
    """Images are drawn in our order (batch, height, width, channel)."""
    shape = [recipe["batch"], *recipe["sample"]]
    images = random_normal(random_key(recipe["seed"], TEST, f"images/{index}"), int(np.prod(shape))).reshape(shape)
    labels = random_uniform(random_key(recipe["seed"], TEST, f"labels/{index}"), recipe["batch"])
    labels = np.floor(labels.astype(np.float64) * recipe["classes"]).astype(np.int64)
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().to(dtype), torch.from_numpy(labels)


def make_optimizer(name, parameters, recipe):
    rate, decay = recipe["optimizers"][name]["learning_rate"], recipe["optimizers"][name]["weight_decay"]
    if name == "adamw":
        return torch.optim.AdamW(parameters, lr=rate, betas=(0.9, 0.999), eps=1e-8, weight_decay=decay)
    momentum = 0.0 if name == "sgd" else 0.9
    return torch.optim.SGD(parameters, lr=rate, momentum=momentum, nesterov=name == "nesterov", weight_decay=decay)


@functools.cache
def drawn_network(network, sample, classes, seed):
    model = networks.build(network, sample, classes)
    networks.initialize(model, seed, jitter=True)
    return model


def make_network(recipe, dtype):
    model = drawn_network(recipe["network"], tuple(recipe["sample"]), recipe["classes"], recipe["seed"])
    return copy.deepcopy(model).to(dtype).train()


def loss_of(logits, labels, recipe):
    return F.cross_entropy(logits, labels, label_smoothing=recipe["label_smoothing"])


def edge_distance(model, images):
    """How near any ReLU input comes to zero, or the winner of a pooling window to its rival, relative to the layer's own size."""
    distances = []

    def on_relu(_, inputs):
        x = inputs[0]
        distances.append((x.abs().min() / x.square().mean().sqrt()).item())

    def on_pool(_, inputs):
        x = inputs[0]
        windows = F.unfold(x.flatten(0, 1).unsqueeze(1), 3, padding=1, stride=2)
        first, second = windows.topk(2, dim=1).values.unbind(dim=1)
        gap = (first - second)[first > 0]  # where all are zero the ReLU before it passes no gradient
        distances.append((gap.min() / x.square().mean().sqrt()).item())

    hooks = {nn.ReLU: on_relu, nn.MaxPool2d: on_pool}
    handles = [module.register_forward_pre_hook(hooks[type(module)]) for module in model.modules() if type(module) in hooks]
    with torch.no_grad():
        model(images)
    for handle in handles:
        handle.remove()
    return min(distances)


def pick_batch(model, recipe, indices):
    """Judged in float32: the distances sought are well above its rounding."""
    probe = copy.deepcopy(model).float()
    return max(indices, key=lambda index: edge_distance(probe, draw_batch(recipe, index, torch.float32)[0]))


def pick_or_recall(recipe, group, step, model):
    """The batch's index: picked when the answers are made, recalled when they are made again in float32."""
    picked = recipe["batches"].setdefault(group, [])
    if len(picked) <= step:
        picked.append(pick_batch(model, recipe, range(step * CANDIDATES, (step + 1) * CANDIDATES)))
    return picked[step]


def answer(recipe, dtype):
    """Every tensor of the case, whole, as float64 arrays."""
    model = make_network(recipe, dtype)
    images, labels = draw_batch(recipe, pick_or_recall(recipe, "gradient", 0, model), dtype)
    logits = model(images)
    loss = loss_of(logits, labels, recipe)
    loss.backward()
    tensors = {"logits": logits, "loss": loss.reshape(1)}
    tensors |= {f"gradient/{name}": p.grad for name, p in model.named_parameters()}
    for name in recipe["optimizers"]:
        tensors |= {f"{name}/{key}": value for key, value in train(recipe, name, dtype).items()}
    return {name: value.detach().double().numpy().copy() for name, value in tensors.items()}


def train(recipe, name, dtype):
    model = make_network(recipe, dtype)
    optimizer = make_optimizer(name, model.parameters(), recipe)
    losses = []
    for step in range(STEPS):
        images, labels = draw_batch(recipe, pick_or_recall(recipe, name, step, model), dtype)
        optimizer.zero_grad()
        loss = loss_of(model(images), labels, recipe)
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    tensors = {key: value for key, value in model.state_dict().items() if not key.endswith("num_batches_tracked")}
    with torch.no_grad():
        evaluation = model.eval()(draw_batch(recipe, recipe["batches"][name][0], dtype)[0])
    return {**tensors, "losses": torch.stack(losses), "evaluation_logits": evaluation}


def sketch(array):
    flat = array.reshape(-1)
    if flat.size <= SKETCH:
        return flat
    words = random_bits(random_key(0, TEST, "sketch"), np.arange((flat.size + 3) // 4, dtype=np.uint64))
    words = np.stack(words, axis=1).reshape(-1)[: flat.size]
    signs = 1.0 - 2.0 * ((words >> np.uint64(7)) & np.uint64(1)).astype(np.float64)
    return np.bincount((words % np.uint64(SKETCH)).astype(np.int64), weights=signs * flat, minlength=SKETCH)


def relative(a, b):
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b), 1e-300))


def worst_errors(single, double):
    """The largest relative L2 error of PyTorch's float32 over the tensors of each group."""
    worst = {}
    for name in double:
        group = name.split("/")[0]
        if name.endswith(("logits", "losses")):
            group = "logits" if name == "logits" else "evaluation or losses"
        worst[group] = max(worst.get(group, 0.0), relative(single[name], double[name]))
    return {group: float(f"{error:.2g}") for group, error in worst.items()}


def make(name):
    recipe = dict(CASES[name]) | {"batches": {}}
    double = answer(recipe, torch.float64)
    recipe["float32_error"] = worst_errors(answer(recipe, torch.float32), double)
    recipe["torch"] = torch.__version__
    write_tensors(os.path.join(FOLDER, name + ".safetensors"), {key: sketch(value) for key, value in double.items()})
    with open(os.path.join(FOLDER, name + ".json"), "w") as file:
        json.dump(recipe, file, indent=2)
        file.write("\n")
    print(name, recipe["float32_error"], flush=True)


def main():
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or CASES:
        if name not in CASES:
            sys.exit(f"make_goldens: there is no case '{name}'; known are {', '.join(CASES)}")
        make(name)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Asks PyTorch what every built-in network computes and stores the answers in tests/goldens, small enough to be committed.

    python tools/goldens/make_goldens.py [CASE...]        needs torch==2.13.0 and numpy; about five minutes on one core

A case is NAME.json, the recipe, and NAME.safetensors, the answers. Weights, images and labels are not stored: both sides
draw them from the counter-based generator (philox.py, src/base/random.h). One batch gives

    logits, loss                  in training mode
    gradient/TENSOR               of the loss
and ten steps from the same weights, for each optimizer,
    OPTIMIZER/losses              of the ten steps
    OPTIMIZER/TENSOR              parameters and running statistics afterwards
    OPTIMIZER/evaluation_logits   of the first batch in evaluation mode afterwards
    OPTIMIZER/gradient_norms      of the ten steps, before clipping, where the recipe has a `clip_norm`

PyTorch computes in float64, from the float32 weights and inputs: the judge's own rounding must not eat the tolerance.
How far PyTorch's own float32 is from these answers, per group of tensors, stands in the recipe as `float32_error`; for
trained tensors relative to the way they went.

Before each step the biases in front of ReLUs are shifted, so that no input of a ReLU lies within rounding of zero, where
gradients jump (edges.py tells why). The shifts are part of the recipe and stored whole:
    shift/OPTIMIZER/BIAS, shift/gradient/BIAS   (steps, channels)
The recipe says how near any input came (`clearance`, a share of the layer's size). Learning rates are those of training
where ten steps are well conditioned; ResNet-18 on a handful of samples amplifies rounding at such rates (at 224 pixels
a hundred thousand times), and takes smaller ones.

A tensor of more than 128 elements is stored as its count sketch: element i (in PyTorch's order) is added to one of 128 sums
with a random sign. The sketch is linear and keeps L2 norms, |sketch(a) - sketch(b)| = |a - b| within some percent, and no
element escapes it.
"""
import copy
import json
import os
import sys

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import networks
from edges import keep_clear, pool_distance, watched
from philox import TEST, random_bits, random_key, random_normal, random_uniform
from tensor_file import write_tensors

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tests", "goldens")
STEPS = 10
FEW_STEPS = 3  # of large networks: the shifts of every step are stored
CANDIDATES = 16  # batches to choose from where the network pools
SKETCH = 128
NOTHING = 1e-12  # the length of a gradient that is zero but for rounding, such as a bias between two norms has
OPTIMIZERS = {
    "sgd": {"learning_rate": 0.1, "weight_decay": 0.01},
    "momentum": {"learning_rate": 0.02, "weight_decay": 0.01},
    "nesterov": {"learning_rate": 0.02, "weight_decay": 0.01},
    "adamw": {"learning_rate": 0.0002, "weight_decay": 0.5},
}


def case(network, sample, batch, classes=10, smoothing=0.0, decay_vectors=True, slower=1, optimizers=tuple(OPTIMIZERS),
         clip_norm=0.0, steps=STEPS):
    """`decay_vectors` false spares norms and biases the weight decay; `clip_norm` 0 clips nothing."""
    slowed = {name: OPTIMIZERS[name] | {"learning_rate": OPTIMIZERS[name]["learning_rate"] / slower} for name in optimizers}
    clipping = {"clip_norm": clip_norm} if clip_norm > 0 else {}
    return {"network": network, "sample": sample, "batch": batch, "classes": classes, "label_smoothing": smoothing,
            "decay_vectors": decay_vectors, "seed": 1, "steps": steps, "optimizers": slowed} | clipping


CASES = {
    "wrn10-1": case("wrn10-1", [16, 16, 3], 8),
    "wrn10-1-gn": case("wrn10-1-gn", [16, 16, 3], 6, classes=7, decay_vectors=False),
    "wrn10-1-gn-clipped": case("wrn10-1-gn", [16, 16, 3], 6, classes=7, optimizers=("momentum", "adamw"), clip_norm=2.0),
    "wrn16-1-smoothed": case("wrn16-1", [16, 16, 3], 8, smoothing=0.1),
    "lenet-300-100": case("lenet-300-100", [28, 28, 1], 32),
    "wrn28-2": case("wrn28-2", [32, 32, 3], 4, decay_vectors=False),
    "wrn28-2-gn": case("wrn28-2-gn", [32, 32, 3], 4),
    "resnet18-32": case("resnet18", [32, 32, 3], 4, slower=4, optimizers=("nesterov", "adamw")),
    "resnet18-gn-32": case("resnet18-gn", [32, 32, 3], 4, decay_vectors=False, optimizers=("nesterov",)),
    "resnet18-224": case("resnet18", [224, 224, 3], 2, classes=20, smoothing=0.1, slower=16, optimizers=("nesterov",)),
    "resnet18-gn-224": case("resnet18-gn", [224, 224, 3], 2, classes=20, slower=16, optimizers=("nesterov",)),
}


def zoo_case(network, extent, batch=4, slower=4):
    return case(network, [extent, extent, 3], batch, slower=slower, optimizers=("nesterov",), steps=FEW_STEPS)


CASES |= {
    "resnet20": zoo_case("resnet20", 32),
    "resnet50": zoo_case("resnet50", 32, batch=8, slower=64),
    "mobilenetv1": zoo_case("mobilenetv1-0.25", 96, batch=8, slower=64),
    "mobilenetv2": zoo_case("mobilenetv2-0.35", 96, batch=8, slower=64),
    "mobilenetv2-gn": zoo_case("mobilenetv2-0.35-gn", 64),
    "squeezenet1_0": zoo_case("squeezenet1_0", 64, batch=2, slower=64),
    "squeezenet1_1": zoo_case("squeezenet1_1", 64, batch=2, slower=64),
    "shufflenetv2": zoo_case("shufflenetv2-0.5", 96, batch=12, slower=64),
    "densenet121": zoo_case("densenet121", 32, slower=16),
    "vgg11-bn": zoo_case("vgg11-bn", 64, batch=2),
    "unet": zoo_case("unet", 32, batch=2, slower=64),
    "unet-bilinear-gn": zoo_case("unet-bilinear-gn", 32, batch=2),
}


def draw_batch(recipe, index, dtype):
    """Images are drawn in our order (batch, height, width, channel)."""
    shape = [recipe["batch"], *recipe["sample"]]
    images = random_normal(random_key(recipe["seed"], TEST, f"images/{index}"), int(np.prod(shape))).reshape(shape)
    labelled = shape[:3] if recipe["network"].startswith("unet") else shape[:1]  # a label for every place, or every image
    labels = random_uniform(random_key(recipe["seed"], TEST, f"labels/{index}"), int(np.prod(labelled))).reshape(labelled)
    labels = np.floor(labels.astype(np.float64) * recipe["classes"]).astype(np.int64)
    return torch.from_numpy(images).permute(0, 3, 1, 2).contiguous().to(dtype), torch.from_numpy(labels)


def make_optimizer(name, model, recipe):
    rate, decay = recipe["optimizers"][name]["learning_rate"], recipe["optimizers"][name]["weight_decay"]
    vector_decay = decay if recipe["decay_vectors"] else 0.0
    groups = [{"params": [p for p in model.parameters() if p.dim() > 1], "weight_decay": decay},
              {"params": [p for p in model.parameters() if p.dim() < 2], "weight_decay": vector_decay}]
    if name == "adamw":
        return torch.optim.AdamW(groups, lr=rate, betas=(0.9, 0.999), eps=1e-8)
    return torch.optim.SGD(groups, lr=rate, momentum=0.0 if name == "sgd" else 0.9, nesterov=name == "nesterov")


def pick_batch(recipe, model, step):
    """The step's own batch; where the network pools, the one of several that stays farthest from a tie once it is shifted."""
    if not any(isinstance(module, nn.MaxPool2d) for module in model.modules()):
        return step

    def distance(index):
        probe, images = copy.deepcopy(model).float(), draw_batch(recipe, index, torch.float32)[0]
        keep_clear(probe, images)
        return pool_distance(probe, images)

    return max(range(step * CANDIDATES, (step + 1) * CANDIDATES), key=distance)


class Steps:
    """The batches and shifts of a group of steps: found while the float64 answers are made, repeated for the float32 ones."""

    def __init__(self, recipe):
        self.recipe, self.batches, self.shifts, self.clearance = recipe, [], [], np.inf

    def forward(self, step, model, dtype):
        """Logits and loss of a step."""
        if step == len(self.batches):
            self.batches.append(pick_batch(self.recipe, model, step))
            images, labels = draw_batch(self.recipe, self.batches[step], dtype)
            self.shifts.append(keep_clear(copy.deepcopy(model), images))
        images, labels = draw_batch(self.recipe, self.batches[step], dtype)
        parameters = dict(model.named_parameters())
        with torch.no_grad():
            for name, shift in self.shifts[step].items():
                parameters[name].add_(shift)
        with watched(model) as distances:
            logits = model(images)
        self.clearance = min(self.clearance, *distances)
        return logits, F.cross_entropy(logits, labels, label_smoothing=self.recipe["label_smoothing"])

    def stored_shifts(self):
        return {name: np.stack([shifts[name].numpy() for shifts in self.shifts]) for name in self.shifts[0]}


def in_our_order(logits):
    """Classes last, also where every place has its own."""
    return logits.movedim(1, -1)


def differentiate(model, steps, dtype):
    model = copy.deepcopy(model).to(dtype).train()
    logits, loss = steps.forward(0, model, dtype)
    loss.backward()
    return {"logits": in_our_order(logits), "loss": loss.reshape(1)} | {f"gradient/{name}": p.grad for name, p in model.named_parameters()}


def train(model, name, steps, dtype):
    model = copy.deepcopy(model).to(dtype).train()
    optimizer = make_optimizer(name, model, steps.recipe)
    losses, norms = [], []
    for step in range(steps.recipe["steps"]):
        optimizer.zero_grad()
        loss = steps.forward(step, model, dtype)[1]
        loss.backward()
        if "clip_norm" in steps.recipe:
            norms.append(nn.utils.clip_grad_norm_(model.parameters(), steps.recipe["clip_norm"]))
        optimizer.step()
        losses.append(loss.detach())
    tensors = {key: value for key, value in model.state_dict().items() if not key.endswith("num_batches_tracked")}
    with torch.no_grad():
        evaluation = model.eval()(draw_batch(steps.recipe, steps.batches[0], dtype)[0])
    tensors |= {"losses": torch.stack(losses), "evaluation_logits": in_our_order(evaluation)}
    if norms:
        tensors["gradient_norms"] = torch.stack(norms)
    return {f"{name}/{key}": value for key, value in tensors.items()}


def answer(recipe, model, groups, dtype):
    """Every tensor of the case, whole, as float64 arrays."""
    tensors = differentiate(model, groups["gradient"], dtype)
    for name in recipe["optimizers"]:
        tensors |= train(model, name, groups[name], dtype)
    return as_arrays(tensors)


def as_arrays(tensors):
    return {name: value.detach().double().numpy().copy() for name, value in tensors.items()}


def sketch(array):
    flat = array.reshape(-1)
    if flat.size <= SKETCH:
        return flat
    words = random_bits(random_key(0, TEST, "sketch"), np.arange((flat.size + 3) // 4, dtype=np.uint64))
    words = np.stack(words, axis=1).reshape(-1)[: flat.size]
    signs = 1.0 - 2.0 * ((words >> np.uint64(7)) & np.uint64(1)).astype(np.float64)
    return np.bincount((words % np.uint64(SKETCH)).astype(np.int64), weights=signs * flat, minlength=SKETCH)


def relative(a, b, origin=0.0):
    return float(np.linalg.norm(a - b) / max(np.linalg.norm(b - origin), 1e-300))


def worst_errors(single, double, origins):
    """The largest relative L2 error of PyTorch's float32 over the tensors of each group; of trained ones relative to the way
    they went."""
    worst = {}
    for name in double:
        if np.linalg.norm(double[name]) < NOTHING:
            continue
        group = name.split("/")[0]
        if name.endswith(("/losses", "/evaluation_logits", "/gradient_norms")):
            group = name.split("/")[1]
        worst[group] = max(worst.get(group, 0.0), relative(single[name], double[name], origins.get(name, 0.0)))
    return worst


def rounded(numbers):
    return {name: float(f"{number:.2g}") for name, number in numbers.items()}


def make(name):
    recipe = copy.deepcopy(CASES[name])
    model = networks.build(recipe["network"], recipe["sample"], recipe["classes"])
    networks.initialize(model, recipe["seed"], jitter=True)
    groups = {group: Steps(recipe) for group in ["gradient", *recipe["optimizers"]]}
    double = answer(recipe, model, groups, torch.float64)
    recipe["batches"] = {group: steps.batches for group, steps in groups.items()}
    recipe["clearance"] = rounded({group: steps.clearance for group, steps in groups.items()})
    shifts = {f"shift/{group}/{key}": value for group, steps in groups.items() for key, value in steps.stored_shifts().items()}
    origins = {f"{group}/{key}": value + shifts.get(f"shift/{group}/{key}", np.zeros(1)).astype(np.float64).sum(axis=0)
               for group in recipe["optimizers"] for key, value in as_arrays(model.state_dict()).items()}
    recipe["float32_error"] = rounded(worst_errors(answer(recipe, model, groups, torch.float32), double, origins))
    recipe["torch"] = torch.__version__
    sketches = {key: sketch(value) for key, value in double.items()}
    write_tensors(os.path.join(FOLDER, name + ".safetensors"), shifts | sketches)
    with open(os.path.join(FOLDER, name + ".json"), "w") as file:
        json.dump(recipe, file, indent=2)
        file.write("\n")
    norms = {key: value.round(3).tolist() for key, value in double.items() if key.endswith("/gradient_norms")}
    print(name, recipe["clearance"], recipe["float32_error"], norms or "", flush=True)


def main():
    torch.use_deterministic_algorithms(True)
    for name in sys.argv[1:] or CASES:
        if name not in CASES:
            sys.exit(f"make_goldens: there is no case '{name}'; known are {', '.join(CASES)}")
        make(name)


if __name__ == "__main__":
    main()

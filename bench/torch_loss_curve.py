"""PyTorch's half of bench/loss_curve; prints one line of JSON with the loss of every iteration.

    torch_loss_curve.py NETWORK BATCH ITERATIONS LEARNING_RATE THREADS DATA_ROOT MEAN DEVIATION        the last two are JSON lists
"""
import json
import os
import sys

import numpy as np
import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "goldens"))
import networks  # noqa: E402

RECORD = 1 + 3072


def read_cifar10(root, count):
    """The first `count` samples in the order of the files."""
    files = (os.path.join(root, "cifar-10-batches-bin", f"data_batch_{i}.bin") for i in range(1, 6))
    data = np.concatenate([np.fromfile(path, dtype=np.uint8) for path in files]).reshape(-1, RECORD)[:count]
    return data[:, 1:].reshape(-1, 3, 32, 32), data[:, 0].astype(np.int64)


def main():
    network, batch, iterations, rate, threads, root, mean, deviation = sys.argv[1:]
    batch, iterations = int(batch), int(iterations)
    torch.set_num_threads(int(threads))
    pixels, labels = read_cifar10(root, batch * iterations)
    mean, deviation = (np.array(json.loads(text)).reshape(1, 3, 1, 1) for text in (mean, deviation))
    model = networks.build(network).train()
    networks.initialize(model, seed=0)
    model = model.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=float(rate), momentum=0.9, nesterov=True, weight_decay=5e-4)
    losses = []
    for i in range(iterations):
        rows = slice(i * batch, (i + 1) * batch)
        images = torch.from_numpy(((pixels[rows] / 255.0 - mean) / deviation).astype(np.float32))
        optimizer.zero_grad()
        loss = F.cross_entropy(model(images.contiguous(memory_format=torch.channels_last)), torch.from_numpy(labels[rows]))
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    print(json.dumps({"losses": losses, "torch": torch.__version__}))


if __name__ == "__main__":
    main()

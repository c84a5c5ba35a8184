"""PyTorch's half of bench/vs_pytorch: the same step, asked in the same way.

    torch_throughput.py NETWORK[@SIZE] BATCH f32|bf16 THREADS "eager|compile [channels_last]"
"""
import json
import os
import sys
import time

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools", "goldens"))
import networks  # noqa: E402

COMPILE_SECONDS = 600  # a mode that takes longer to get ready is no mode to measure


def peak_bytes():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM:"))


def make_step(network, batch, mode, torch_mode):
    name, _, size = network.partition("@")
    sample = networks.default_sample(name)
    if size:
        sample = (int(size), int(size), sample[2])
    model = networks.build(name, sample).train()
    networks.initialize(model, seed=0)
    images = torch.randn(batch, sample[2], sample[0], sample[1])
    labels = torch.arange(batch) % 10
    if torch_mode.endswith("channels_last"):
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=5e-4, fused=True)
    forward = torch.compile(model) if torch_mode.startswith("compile") else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=mode == "bf16"):
            loss = F.cross_entropy(forward(images), labels)
        loss.backward()
        optimizer.step()

    return step, sample


def main():
    network, batch, mode, threads, torch_mode = sys.argv[1:]
    torch.set_num_threads(int(threads))
    torch.manual_seed(0)
    step, sample = make_step(network, int(batch), mode, torch_mode)
    begin = time.perf_counter()
    step()
    if time.perf_counter() - begin > COMPILE_SECONDS:
        sys.exit(f"the first step took more than {COMPILE_SECONDS} s")
    print(json.dumps({"ready": True, "torch": torch.__version__, "sample": list(sample)}), flush=True)
    for line in sys.stdin:
        if line.startswith("run "):
            begin = time.perf_counter()
            for _ in range(int(line[4:])):
                step()
            print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
        else:
            print(json.dumps({"peak_bytes": peak_bytes()}), flush=True)


if __name__ == "__main__":
    main()

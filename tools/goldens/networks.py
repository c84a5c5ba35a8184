"""The built-in networks in plain PyTorch, under the same parameter names: state_dict keys equal ours."""
import re

import numpy as np
import torch
from torch import nn

import zoo
from philox import INIT, random_key, random_normal, random_uniform


def make_norm(kind, channels):
    if kind == "batch":
        return nn.BatchNorm2d(channels, eps=1e-5, momentum=0.1)
    return nn.GroupNorm(channels // 8 if channels % 8 == 0 else 1, channels, eps=1e-5)


def make_conv(inputs, outputs, kernel=3, stride=1, padding=1):
    return nn.Conv2d(inputs, outputs, kernel, stride, padding, bias=False)


class WideBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.bn1 = make_norm(norm, inputs)
        self.conv1 = make_conv(inputs, outputs, stride=stride)
        self.bn2 = make_norm(norm, outputs)
        self.conv2 = make_conv(outputs, outputs)
        self.convShortcut = None
        if inputs != outputs or stride != 1:
            self.convShortcut = make_conv(inputs, outputs, kernel=1, stride=stride, padding=0)

    def forward(self, x):
        a = self.relu(self.bn1(x))
        shortcut = x if self.convShortcut is None else self.convShortcut(a)
        return self.conv2(self.relu(self.bn2(self.conv1(a)))) + shortcut


class WideStage(nn.Module):
    def __init__(self, blocks, inputs, outputs, stride, norm):
        super().__init__()
        self.layer = nn.Sequential(
            *(WideBlock(outputs if i else inputs, outputs, 1 if i else stride, norm) for i in range(blocks)))

    def forward(self, x):
        return self.layer(x)


class WideResNet(nn.Module):
    def __init__(self, depth, width, norm, channels, classes):
        super().__init__()
        blocks = (depth - 4) // 6
        self.relu = nn.ReLU()
        self.conv1 = make_conv(channels, 16)
        self.block1 = WideStage(blocks, 16, 16 * width, 1, norm)
        self.block2 = WideStage(blocks, 16 * width, 32 * width, 2, norm)
        self.block3 = WideStage(blocks, 32 * width, 64 * width, 2, norm)
        self.bn1 = make_norm(norm, 64 * width)
        self.fc = nn.Linear(64 * width, classes)

    def forward(self, x):
        x = self.block3(self.block2(self.block1(self.conv1(x))))
        return self.fc(self.relu(self.bn1(x)).mean(dim=(2, 3)))


class BasicBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1 = make_conv(inputs, outputs, stride=stride)
        self.bn1 = make_norm(norm, outputs)
        self.conv2 = make_conv(outputs, outputs)
        self.bn2 = make_norm(norm, outputs)
        self.downsample = None
        if inputs != outputs or stride != 1:
            self.downsample = nn.Sequential(
                make_conv(inputs, outputs, kernel=1, stride=stride, padding=0), make_norm(norm, outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        return self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))) + shortcut)


class ResNet18(nn.Module):
    def __init__(self, norm, height, channels, classes):
        super().__init__()
        is_small = height < 64
        self.relu = nn.ReLU()
        self.pool = nn.Identity() if is_small else nn.MaxPool2d(3, 2, 1)
        self.conv1 = make_conv(channels, 64) if is_small else make_conv(channels, 64, 7, 2, 3)
        self.bn1 = make_norm(norm, 64)
        for stage in range(4):
            outputs = 64 << stage
            inputs = outputs // 2 if stage else outputs
            blocks = (BasicBlock(inputs, outputs, 2 if stage else 1, norm), BasicBlock(outputs, outputs, 1, norm))
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.fc = nn.Linear(512, classes)

    def forward(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean(dim=(2, 3)))


class LeNet300(nn.Module):
    """Flattens rows, then columns, then channels, as our images lie in memory."""

    def __init__(self, features, classes):
        super().__init__()
        self.relu = nn.ReLU()
        self.fc1 = nn.Linear(features, 300)
        self.fc2 = nn.Linear(300, 100)
        self.fc3 = nn.Linear(100, classes)

    def forward(self, x):
        x = x.permute(0, 2, 3, 1).flatten(1)
        return self.fc3(self.relu(self.fc2(self.relu(self.fc1(x)))))


def default_sample(name):
    return (28, 28, 1) if name.startswith("lenet") else (32, 32, 3)


def build_of_zoo(base, norm, height, width, channels, classes):
    """Nothing if the zoo does not know the name."""
    if base == "resnet50":
        return zoo.DeepResNet((3, 4, 6, 3), norm, height, channels, classes)
    if small := re.fullmatch(r"resnet(\d+)", base):
        return zoo.SmallResNet(int(small[1]), norm, channels, classes)
    if mobile := re.fullmatch(r"mobilenetv([12])(?:-([\d.]+))?", base):
        return (zoo.MobileNetV1 if mobile[1] == "1" else zoo.MobileNetV2)(float(mobile[2] or 1), norm, channels, classes)
    if squeeze := re.fullmatch(r"squeezenet(1_[01])", base):
        return zoo.SqueezeNet(squeeze[1], norm, height, channels, classes)
    if shuffle := re.fullmatch(r"shufflenetv2(?:-([\d.]+))?", base):
        return zoo.ShuffleNetV2(shuffle[1] or "1.0", norm, height, channels, classes)
    if base == "densenet121":
        return zoo.DenseNet((6, 12, 24, 16), norm, height, channels, classes)
    if vgg := re.fullmatch(r"vgg(\d+)", base):
        return zoo.Vgg(int(vgg[1]), norm, height, width, channels, classes)
    if base in ("unet", "unet-bilinear"):
        return zoo.UNet(base == "unet-bilinear", norm, channels, classes)
    return None


def build(name, sample=None, classes=10):
    """`sample` is (height, width, channels)."""
    height, width, channels = sample or default_sample(name)
    base = name.removesuffix("-gn").removesuffix("-bn")
    plain = "none" if base.startswith(("vgg", "squeezenet")) else "batch"
    norm = "group" if name.endswith("-gn") else "batch" if name.endswith("-bn") else plain
    if wide := re.fullmatch(r"wrn-?(\d+)-(\d+)", base):
        return WideResNet(int(wide[1]), int(wide[2]), norm, channels, classes)
    if base == "resnet18":
        return ResNet18(norm, height, channels, classes)
    if name == "lenet-300-100":
        return LeNet300(height * width * channels, classes)
    if model := build_of_zoo(base, norm, height, width, channels, classes):
        return model
    raise SystemExit(f"networks: there is no network '{name}'")


def draw(key, tensor, scale, kind):
    if kind == "normal":
        draws = random_normal(key, tensor.numel()).astype(np.float64)
    else:
        draws = 2 * random_uniform(key, tensor.numel()).astype(np.float64) - 1
    tensor.copy_(torch.from_numpy((scale * draws).astype(np.float32)).reshape(tensor.shape))


@torch.no_grad()
def initialize(model, seed, jitter=False):
    """The weights that a training run of ours starts from. `jitter` moves norms away from one and zero, so that a forgotten
    scale or shift shows at once: ones become [0.75, 1.25), zeros [-0.2, 0.2)."""
    for path, module in model.named_modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            fan_out = module.kernel_size[0] * module.kernel_size[1] * module.out_channels // module.groups
            draw(random_key(seed, INIT, f"{path}.weight"), module.weight, np.sqrt(2.0 / fan_out), "normal")
            if module.bias is not None:
                draw(random_key(seed, INIT, f"{path}.bias"), module.bias, 0.2 if jitter else 0, "uniform")
        elif isinstance(module, nn.Linear):
            for part in ("weight", "bias"):
                draw(random_key(seed, INIT, f"{path}.{part}"), getattr(module, part), 1 / np.sqrt(module.in_features), "uniform")
        elif isinstance(module, (nn.BatchNorm2d, nn.GroupNorm)):
            for part, ones in (("weight", True), ("bias", False), ("running_mean", False), ("running_var", True)):
                tensor = getattr(module, part, None)
                if tensor is None:
                    continue
                draw(random_key(seed, INIT, f"{path}.{part}"), tensor, (0.25 if ones else 0.2) if jitter else 0, "uniform")
                tensor.add_(1.0 if ones else 0.0)

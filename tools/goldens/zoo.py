"""The wider zoo in plain PyTorch, under the same parameter names: torchvision's where it has the network."""
import torch
from torch import nn
from torch.nn import functional as F


def make_norm(kind, channels):
    if kind == "none":
        return nn.Identity()
    if kind == "batch":
        return nn.BatchNorm2d(channels, eps=1e-5, momentum=0.1)
    return nn.GroupNorm(channels // 8 if channels % 8 == 0 else 1, channels, eps=1e-5)


def make_conv(inputs, outputs, kernel=3, stride=1, padding=None, groups=1, bias=False):
    return nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2 if padding is None else padding, groups=groups, bias=bias)


def scaled(channels):
    nearest = max(8, int(channels + 4) // 8 * 8)
    return nearest + 8 if nearest < 0.9 * channels else nearest


def conv_norm(inputs, outputs, kernel, stride, groups, norm, activation):
    return nn.Sequential(make_conv(inputs, outputs, kernel, stride, groups=groups), make_norm(norm, outputs), activation())


class Bottleneck(nn.Module):
    def __init__(self, inputs, channels, stride, norm):
        super().__init__()
        outputs = 4 * channels
        self.relu = nn.ReLU()
        self.conv1, self.bn1 = make_conv(inputs, channels, 1), make_norm(norm, channels)
        self.conv2, self.bn2 = make_conv(channels, channels, 3, stride), make_norm(norm, channels)
        self.conv3, self.bn3 = make_conv(channels, outputs, 1), make_norm(norm, outputs)
        self.downsample = None
        if stride != 1 or inputs != outputs:
            self.downsample = nn.Sequential(make_conv(inputs, outputs, 1, stride), make_norm(norm, outputs))

    def forward(self, x):
        shortcut = x if self.downsample is None else self.downsample(x)
        y = self.relu(self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x))))))
        return self.relu(self.bn3(self.conv3(y)) + shortcut)


class DeepResNet(nn.Module):
    def __init__(self, blocks, norm, height, channels, classes):
        super().__init__()
        is_small = height < 64
        self.relu = nn.ReLU()
        self.pool = nn.Identity() if is_small else nn.MaxPool2d(3, 2, 1)
        self.conv1 = make_conv(channels, 64) if is_small else make_conv(channels, 64, 7, 2)
        self.bn1 = make_norm(norm, 64)
        inputs = 64
        for stage, count in enumerate(blocks):
            layers = []
            for index in range(count):
                layers.append(Bottleneck(inputs, 64 << stage, 2 if stage and not index else 1, norm))
                inputs = 256 << stage
            self.add_module(f"layer{stage + 1}", nn.Sequential(*layers))
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        x = self.pool(self.relu(self.bn1(self.conv1(x))))
        return self.fc(self.layer4(self.layer3(self.layer2(self.layer1(x)))).mean(dim=(2, 3)))


class SmallBlock(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.stride, self.added = stride, outputs - inputs
        self.conv1, self.bn1 = make_conv(inputs, outputs, 3, stride), make_norm(norm, outputs)
        self.conv2, self.bn2 = make_conv(outputs, outputs), make_norm(norm, outputs)

    def forward(self, x):
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        half = self.added // 2
        shortcut = x if self.stride == 1 else F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, half, self.added - half))
        return self.relu(y + shortcut)


class SmallResNet(nn.Module):
    def __init__(self, depth, norm, channels, classes):
        super().__init__()
        self.relu = nn.ReLU()
        self.conv1, self.bn1 = make_conv(channels, 16), make_norm(norm, 16)
        for stage in range(3):
            outputs = 16 << stage
            blocks = [SmallBlock(outputs // 2 if stage and not i else outputs, outputs, 2 if stage and not i else 1, norm)
                      for i in range((depth - 2) // 6)]
            self.add_module(f"layer{stage + 1}", nn.Sequential(*blocks))
        self.linear = nn.Linear(64, classes)

    def forward(self, x):
        x = self.relu(self.bn1(self.conv1(x)))
        return self.linear(self.layer3(self.layer2(self.layer1(x))).mean(dim=(2, 3)))


class MobileNetV1(nn.Module):
    LAYERS = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2), (512, 1), (512, 1), (512, 1), (512, 1), (512, 1),
              (1024, 2), (1024, 1))

    def __init__(self, width, norm, channels, classes):
        super().__init__()
        inputs = scaled(32 * width)
        layers = [conv_norm(channels, inputs, 3, 2, 1, norm, nn.ReLU)]
        for outputs, stride in self.LAYERS:
            outputs = scaled(outputs * width)
            layers.append(nn.Sequential(*conv_norm(inputs, inputs, 3, stride, inputs, norm, nn.ReLU),
                                        *conv_norm(inputs, outputs, 1, 1, 1, norm, nn.ReLU)))
            inputs = outputs
        self.model = nn.Sequential(*layers)
        self.fc = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.fc(self.model(x).mean(dim=(2, 3)))


class InvertedResidual(nn.Module):
    def __init__(self, inputs, outputs, expansion, stride, norm):
        super().__init__()
        middle = inputs * expansion
        widen = [conv_norm(inputs, middle, 1, 1, 1, norm, nn.ReLU6)] if expansion != 1 else []
        self.conv = nn.Sequential(*widen, conv_norm(middle, middle, 3, stride, middle, norm, nn.ReLU6),
                                  make_conv(middle, outputs, 1), make_norm(norm, outputs))
        self.is_residual = stride == 1 and inputs == outputs

    def forward(self, x):
        return x + self.conv(x) if self.is_residual else self.conv(x)


class MobileNetV2(nn.Module):
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self, width, norm, channels, classes):
        super().__init__()
        inputs = scaled(32 * width)
        features = [conv_norm(channels, inputs, 3, 2, 1, norm, nn.ReLU6)]
        for expansion, outputs, blocks, stride in self.STAGES:
            for index in range(blocks):
                features.append(InvertedResidual(inputs, scaled(outputs * width), expansion, 1 if index else stride, norm))
                inputs = scaled(outputs * width)
        last = scaled(1280 * max(1.0, width))
        features.append(conv_norm(inputs, last, 1, 1, 1, norm, nn.ReLU6))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Identity(), nn.Linear(last, classes))

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


class Fire(nn.Module):
    def __init__(self, inputs, squeeze, expand, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.squeeze, self.squeeze_norm = make_conv(inputs, squeeze, 1, bias=True), make_norm(norm, squeeze)
        self.expand1x1, self.expand1x1_norm = make_conv(squeeze, expand, 1, bias=True), make_norm(norm, expand)
        self.expand3x3, self.expand3x3_norm = make_conv(squeeze, expand, bias=True), make_norm(norm, expand)

    def forward(self, x):
        x = self.relu(self.squeeze_norm(self.squeeze(x)))
        one = self.relu(self.expand1x1_norm(self.expand1x1(x)))
        return torch.cat([one, self.relu(self.expand3x3_norm(self.expand3x3(x)))], 1)


class SqueezeNet(nn.Module):
    FIRES = ((16, 64), (16, 64), (32, 128), (32, 128), (48, 192), (48, 192), (64, 256), (64, 256))

    def __init__(self, version, norm, height, channels, classes):
        super().__init__()
        is_small = height < 64
        first, kernel, pools = (96, 7, (2, 6)) if version == "1_0" else (64, 3, (1, 3))
        stem = (3, 1, 1) if is_small else (kernel, 2, 0)
        if norm != "none":
            raise SystemExit("zoo: the judge knows SqueezeNet without norms")
        features = [make_conv(channels, first, *stem, bias=True), nn.ReLU(), nn.MaxPool2d(3, 2, ceil_mode=True)]
        inputs = first
        for index, (squeeze, expand) in enumerate(self.FIRES):
            features.append(Fire(inputs, squeeze, expand, norm))
            inputs = 2 * expand
            if index in pools:
                features.append(nn.MaxPool2d(3, 2, ceil_mode=True))
        self.features = nn.Sequential(*features)
        self.classifier = nn.Sequential(nn.Identity(), make_conv(inputs, classes, 1, bias=True), nn.ReLU())

    def forward(self, x):
        return self.classifier(self.features(x)).mean(dim=(2, 3))


class ShuffleUnit(nn.Module):
    def __init__(self, inputs, outputs, stride, norm):
        super().__init__()
        half = outputs // 2
        self.stride = stride
        start = inputs if stride == 2 else half
        self.branch1 = nn.Sequential()
        if stride == 2:
            self.branch1 = nn.Sequential(make_conv(inputs, inputs, 3, 2, groups=inputs), make_norm(norm, inputs),
                                         make_conv(inputs, half, 1), make_norm(norm, half), nn.ReLU())
        self.branch2 = nn.Sequential(make_conv(start, half, 1), make_norm(norm, half), nn.ReLU(),
                                     make_conv(half, half, 3, stride, groups=half), make_norm(norm, half),
                                     make_conv(half, half, 1), make_norm(norm, half), nn.ReLU())

    def forward(self, x):
        if self.stride == 2:
            passed, other = self.branch1(x), x
        else:
            passed, other = x.chunk(2, dim=1)
        x = torch.cat([passed, self.branch2(other)], 1)
        batch, channels, height, width = x.shape
        return x.view(batch, 2, channels // 2, height, width).transpose(1, 2).reshape(batch, channels, height, width)


class ShuffleNetV2(nn.Module):
    WIDTHS = {"0.5": (48, 96, 192, 1024), "1.0": (116, 232, 464, 1024), "1.5": (176, 352, 704, 1024), "2.0": (244, 488, 976, 2048)}

    def __init__(self, width, norm, height, channels, classes):
        super().__init__()
        is_small = height < 64
        self.conv1 = conv_norm(channels, 24, 3, 1 if is_small else 2, 1, norm, nn.ReLU)
        self.maxpool = nn.Identity() if is_small else nn.MaxPool2d(3, 2, 1)
        *stages, last = self.WIDTHS[width]
        inputs = 24
        for stage, (outputs, blocks) in enumerate(zip(stages, (4, 8, 4))):
            units = [ShuffleUnit(outputs if i else inputs, outputs, 1 if i else 2, norm) for i in range(blocks)]
            self.add_module(f"stage{stage + 2}", nn.Sequential(*units))
            inputs = outputs
        self.conv5 = conv_norm(inputs, last, 1, 1, 1, norm, nn.ReLU)
        self.fc = nn.Linear(last, classes)

    def forward(self, x):
        x = self.stage4(self.stage3(self.stage2(self.maxpool(self.conv1(x)))))
        return self.fc(self.conv5(x).mean(dim=(2, 3)))


class DenseLayer(nn.Module):
    def __init__(self, inputs, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.norm1, self.conv1 = make_norm(norm, inputs), make_conv(inputs, 128, 1)
        self.norm2, self.conv2 = make_norm(norm, 128), make_conv(128, 32)

    def forward(self, x):
        y = self.conv2(self.relu(self.norm2(self.conv1(self.relu(self.norm1(x))))))
        return torch.cat([x, y], 1)


class Transition(nn.Module):
    def __init__(self, inputs, norm):
        super().__init__()
        self.relu = nn.ReLU()
        self.norm, self.conv = make_norm(norm, inputs), make_conv(inputs, inputs // 2, 1)

    def forward(self, x):
        return F.avg_pool2d(self.conv(self.relu(self.norm(x))), 2)


class DenseNet(nn.Module):
    def __init__(self, layers, norm, height, channels, classes):
        super().__init__()
        is_small = height < 64
        self.features = nn.Sequential()
        self.features.add_module("conv0", make_conv(channels, 64, 3 if is_small else 7, 1 if is_small else 2))
        self.features.add_module("norm0", make_norm(norm, 64))
        self.features.add_module("relu0", nn.ReLU())
        if not is_small:
            self.features.add_module("pool0", nn.MaxPool2d(3, 2, 1))
        inputs = 64
        for index, count in enumerate(layers):
            block = nn.Sequential()
            for layer in range(count):
                block.add_module(f"denselayer{layer + 1}", DenseLayer(inputs, norm))
                inputs += 32
            self.features.add_module(f"denseblock{index + 1}", block)
            if index < 3:
                self.features.add_module(f"transition{index + 1}", Transition(inputs, norm))
                inputs //= 2
        self.features.add_module("norm5", make_norm(norm, inputs))
        self.features.add_module("relu5", nn.ReLU())
        self.classifier = nn.Linear(inputs, classes)

    def forward(self, x):
        return self.classifier(self.features(x).mean(dim=(2, 3)))


class Vgg(nn.Module):
    STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}

    def __init__(self, depth, norm, height, width, channels, classes):
        super().__init__()
        features = []
        for count, outputs in zip(self.STAGES[depth], (64, 128, 256, 512, 512)):
            for _ in range(count):
                features.append(make_conv(channels, outputs, bias=True))
                if norm != "none":
                    features.append(make_norm(norm, outputs))
                features.append(nn.ReLU())
                channels = outputs
            features.append(nn.MaxPool2d(2, 2))
        self.features = nn.Sequential(*features)
        inputs = 512 * (height // 32) * (width // 32)
        if height < 64:
            self.classifier = nn.Linear(inputs, classes)
        else:
            self.classifier = nn.Sequential(nn.Linear(inputs, 4096), nn.ReLU(), nn.Identity(), nn.Linear(4096, 4096), nn.ReLU(),
                                            nn.Identity(), nn.Linear(4096, classes))

    def forward(self, x):
        return self.classifier(self.features(x).flatten(1))


class DoubleConv(nn.Module):
    def __init__(self, inputs, middle, outputs, norm):
        super().__init__()
        self.double_conv = nn.Sequential(make_conv(inputs, middle), make_norm(norm, middle), nn.ReLU(),
                                         make_conv(middle, outputs), make_norm(norm, outputs), nn.ReLU())

    def forward(self, x):
        return self.double_conv(x)


class Down(nn.Module):
    def __init__(self, inputs, outputs, norm):
        super().__init__()
        self.maxpool_conv = nn.Sequential(nn.MaxPool2d(2), DoubleConv(inputs, outputs, outputs, norm))

    def forward(self, x):
        return self.maxpool_conv(x)


class Up(nn.Module):
    def __init__(self, inputs, outputs, is_bilinear, norm):
        super().__init__()
        if is_bilinear:
            self.up, middle = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=False), inputs // 2
        else:
            self.up, middle = nn.ConvTranspose2d(inputs, inputs // 2, 2, 2), outputs
        self.conv = DoubleConv(inputs, middle, outputs, norm)

    def forward(self, x, skip):
        return self.conv(torch.cat([skip, self.up(x)], 1))


class UNet(nn.Module):
    def __init__(self, is_bilinear, norm, channels, classes):
        super().__init__()
        half = 2 if is_bilinear else 1
        self.inc = DoubleConv(channels, 64, 64, norm)
        for level in range(1, 5):
            self.add_module(f"down{level}", Down(32 << level, (64 << level) // (half if level == 4 else 1), norm))
        for level in range(1, 5):
            outputs = (64 << (4 - level)) // (half if level < 4 else 1)
            self.add_module(f"up{level}", Up(128 << (4 - level), outputs, is_bilinear, norm))
        self.outc = nn.Module()
        self.outc.conv = make_conv(64, classes, 1, bias=True)

    def forward(self, x):
        skips = [self.inc(x)]
        for level in range(1, 5):
            skips.append(getattr(self, f"down{level}")(skips[-1]))
        x = skips.pop()
        for level in range(1, 5):
            x = getattr(self, f"up{level}")(x, skips.pop())
        return self.outc.conv(x)

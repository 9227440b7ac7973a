#!/usr/bin/env python3
"""Makes and checks the golden files of crates/evaluator/tests/networks.rs with PyTorch and onnxruntime.

    python3 -m venv /tmp/golden && /tmp/golden/bin/pip install torch numpy safetensors onnxruntime    (or a distribution's torch)
    /tmp/golden/bin/python scripts/golden-networks.py make          (weights and expected outputs, by PyTorch)
    cargo test --release -p afterstate-evaluator --test networks -- --ignored    (the same networks as ONNX, by us)
    /tmp/golden/bin/python scripts/golden-networks.py check         (those, by onnxruntime, against PyTorch)
"""

import sys
from pathlib import Path

import numpy as np

FOLDER = Path(__file__).parent.parent / "crates/evaluator/tests/data/networks"
NAMES = ["value-cnn", "dual-path", "zeronet", "three-path"]


def boards():
    """Twelve boards as exponents: empty, with the largest tiles, and random ones of all densities."""
    rng = np.random.default_rng(2048)
    made = [np.zeros(16), np.arange(16) + 2]
    for i in range(10):
        made.append(rng.integers(1, 4 + 1.4 * i, 16) * (rng.random(16) < 0.1 * (i + 1)))
    return np.array(made).astype(np.uint8)


def planes(exponents, name):
    """The inputs of a network, as PyTorch and ONNX want them."""
    if name == "dual-path":
        return (exponents / 17).astype(np.float32).reshape(-1, 1, 4, 4)
    if name == "three-path":
        return np.minimum(exponents, 17).astype(np.int64)
    one_hot = np.eye(16, dtype=np.float32)[np.minimum(exponents, 15)]
    return np.ascontiguousarray(one_hot.reshape(-1, 4, 4, 16).transpose(0, 3, 1, 2))


def networks():
    """Small networks of every architecture, written as one would in PyTorch."""
    import torch
    from torch import nn
    from torch.nn import functional as F

    class Block(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm1 = nn.BatchNorm2d(channels)
            self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
            self.norm2 = nn.BatchNorm2d(channels)

        def forward(self, x):
            return F.relu(self.norm2(self.conv2(F.relu(self.norm1(self.conv1(x))))) + x)

    class Normed(nn.Module):
        """A convolution and its norm."""

        def __init__(self, conv, norm):
            super().__init__()
            self.conv, self.norm = conv, norm

        def forward(self, x):
            return F.relu(self.norm(self.conv(x)))

    class ZeroNet(nn.Module):
        def __init__(self, blocks=2, channels=9):
            super().__init__()
            self.stem = Normed(nn.Conv2d(16, channels, 3, padding=1, bias=False), nn.BatchNorm2d(channels))
            self.blocks = nn.ModuleList(Block(channels) for _ in range(blocks))
            self.policy = Normed(nn.Conv2d(channels, 2, 1, bias=False), nn.BatchNorm2d(2))
            self.policy.out = nn.Linear(32, 4)
            self.value = Normed(nn.Conv2d(channels, 1, 1, bias=False), nn.BatchNorm2d(1))
            self.value.hidden = nn.Linear(16, 128)
            self.value.out = nn.Linear(128, 1)

        def forward(self, x):
            x = self.stem(x)
            for block in self.blocks:
                x = block(x)
            logits = self.policy.out(self.policy(x).flatten(1))
            hidden = F.dropout(F.relu(self.value.hidden(self.value(x).flatten(1))), 0.3, self.training)
            return torch.cat([logits, torch.tanh(self.value.out(hidden))], 1)

    class DualPath(nn.Module):
        def __init__(self, channels=10, width=12, head=16):
            super().__init__()
            self.conv = nn.ModuleList([
                nn.Conv2d(1, channels // 2, 3, padding=1),
                nn.Conv2d(channels // 2, channels, 3, padding=1),
                nn.Conv2d(channels, channels, 2),
            ])
            self.flat = nn.ModuleList([nn.Linear(16, width), nn.Linear(width, width)])
            sizes = [9 * channels + width, head, head // 2]
            for name, outputs in (("policy", 4), ("value", 1)):
                layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:] + [outputs])]
                setattr(self, name, nn.ModuleList(layers))

        def forward(self, x):
            image, flat = x, x.flatten(1)
            for conv in self.conv:
                image = F.relu(conv(image))
            for layer in self.flat:
                flat = F.relu(layer(flat))
            joined = torch.cat([image.flatten(1), flat], 1)
            return torch.cat([head(self.policy, joined), head(self.value, joined)], 1)

    def head(layers, x):
        for layer in layers[:-1]:
            x = F.relu(layer(x))
        return layers[-1](x)

    class ValueCnn(nn.Module):
        def __init__(self, filters=24, dense=16):
            super().__init__()
            widths = [16] + [filters >> i for i in range(4)]
            pairs = list(zip(widths, widths[1:]))
            self.blocks = nn.ModuleList(
                Normed(nn.Conv2d(a, b, 3, padding=1, bias=False), nn.BatchNorm2d(b)) for a, b in pairs)
            last = filters // 8
            self.mix = nn.ModuleList(
                Normed(nn.Conv2d(last, last, 1), nn.LayerNorm([last, 2, 2])) for _ in range(2))
            self.dense = nn.ModuleList([nn.Linear(4 * last, dense), nn.Linear(dense, dense // 4)])
            self.out = nn.Linear(dense // 4, 1)

        def forward(self, x):
            for i, block in enumerate(self.blocks):
                x = F.max_pool2d(block(x), 2, 1) if i < 2 else block(x)
            for block in self.mix:
                x = block(x)
            x = x.flatten(1)
            for layer in self.dense:
                x = F.relu(layer(x))
            return self.out(x)

    class Separable(nn.Module):
        def __init__(self, channels, kernel):
            super().__init__()
            self.depthwise = nn.Conv2d(channels, channels, kernel, groups=channels)
            self.pointwise = nn.Conv2d(channels, channels, 1)

        def forward(self, x):
            return F.relu(self.pointwise(self.depthwise(x))).flatten(1)

    class ThreePath(nn.Module):
        def __init__(self, channels=10, features=24, width=12):
            super().__init__()
            self.embedding = nn.Embedding(18, channels)
            self.row = Separable(channels, (1, 4))
            self.column = Separable(channels, (4, 1))
            self.square = Separable(channels, (2, 2))
            self.features = nn.Linear(17 * channels, features)
            sizes = [features, width, width]
            for name, outputs in (("policy", 4), ("value", 1)):
                layers = [nn.Linear(a, b) for a, b in zip(sizes, sizes[1:] + [outputs])]
                setattr(self, name, nn.ModuleList(layers))

        def forward(self, x):
            x = self.embedding(x).permute(0, 2, 1).reshape(len(x), -1, 4, 4)
            joined = torch.cat([self.row(x), self.column(x), self.square(x)], 1)
            joined = F.relu(self.features(joined))
            return torch.cat([head(self.policy, joined), head(self.value, joined)], 1)

    torch.manual_seed(1)
    return {"value-cnn": ValueCnn(), "dual-path": DualPath(), "zeronet": ZeroNet(), "three-path": ThreePath()}


def make():
    import torch
    from safetensors.numpy import save_file as save_numpy
    from safetensors.torch import save_file

    exponents = boards()
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, network in networks().items():
        inputs = torch.from_numpy(planes(exponents, name))
        network.train()
        for _ in range(20):  # norms that have met something
            network(inputs)
        for parameter in network.parameters():  # biases and norms that are not those of the beginning
            parameter.data += 0.05 * torch.randn_like(parameter)
        network.eval()
        with torch.no_grad():
            outputs = network(inputs).numpy()
        save_file(network.state_dict(), FOLDER / f"{name}.safetensors")
        save_numpy({"boards": exponents, "outputs": outputs}, FOLDER / f"{name}.expected.safetensors")
        print(name, sum(p.numel() for p in network.parameters()), outputs[2])


def check():
    import onnxruntime
    from safetensors.numpy import load_file

    for name in NAMES:
        expected = load_file(FOLDER / f"{name}.expected.safetensors")
        session = onnxruntime.InferenceSession(FOLDER / f"{name}.onnx", providers=["CPUExecutionProvider"])
        (outputs,) = session.run(None, {"board": planes(expected["boards"], name)})
        worst = np.abs(outputs - expected["outputs"]).max()
        print(f"{name}: at most {worst:.2g} from PyTorch")
        assert worst < 1e-4


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]]()

"""Residual networks as one writes them in PyTorch, in float64: resnet_torch.py CASES.json prints their losses and gradients.

A case: shape, parameters (flat, matrices column-major), images (samples x channels x height x width) and labels.
tests/learn/resnet.cpp compares."""
import json
import sys

import torch
import torch.nn.functional as F



def answer(case):
    blocks, width, groups, classes = (case["shape"][k] for k in ("blocks", "width", "groups", "classes"))
    flat = torch.tensor(case["parameters"], dtype=torch.float64, requires_grad=True)
    images, labels = torch.tensor(case["images"], dtype=torch.float64), torch.tensor(case["labels"])
    used = 0

    def take(*shape):
        """The next parameters; of a matrix, the last of its dimensions comes slowest in memory."""
        nonlocal used
        size = torch.Size(shape).numel()
        part = flat[used:used + size]
        used += size
        return part.reshape(*shape[1:], shape[0]).movedim(-1, 0)

    def convolve(x, filters, stride=1):
        """A convolution without biases, and its norm."""
        y = F.conv2d(x, take(filters, x.shape[1], 3, 3), stride=stride, padding=1)
        return F.group_norm(y, groups, take(filters), take(filters))

    x = F.relu(convolve(images, width))
    for stage in range(3):
        for block in range(blocks):
            stride, filters = 2 if stage > 0 and block == 0 else 1, width << stage
            shortcut = F.pad(x[:, :, ::stride, ::stride], (0, 0, 0, 0, 0, filters - x.shape[1]))
            y = F.relu(convolve(x, filters, stride))
            x = F.relu(convolve(y, filters) + shortcut)
    x = F.adaptive_avg_pool2d(x, 1).flatten(1)
    x = F.linear(x, take(classes, x.shape[1]), take(classes))
    assert used == flat.numel(), (used, flat.numel())
    loss = F.cross_entropy(x, labels)
    loss.backward()
    return {"loss": loss.item(), "gradient": flat.grad.tolist()}


json.dump([answer(case) for case in json.load(open(sys.argv[1]))], sys.stdout)

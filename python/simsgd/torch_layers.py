"""Layers of a PyTorch network and the times of their passes: what simsgd.record and measure/torch_profile.py write."""

import math
import statistics
import time

import torch


class Clock:
    """Instants on the device: CUDA events, which cost the host nothing, or the CPU's clock."""

    def __init__(self, device):
        self.cuda = device.type == "cuda"

    def now(self):
        if not self.cuda:
            return time.perf_counter()
        event = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def finish(self):
        if self.cuda:
            torch.cuda.synchronize()

    def between(self, begin, end):
        return begin.elapsed_time(end) * 1e-3 if self.cuda else end - begin


class Layer:
    """A module with parameters of its own, and what follows it that has none (activations, pooling)."""

    def __init__(self, name, module):
        self.name, self.module = name, module
        self.activations = self.positions = 0
        self.flop = 0.0
        self.forward_s, self.backward_s = [], []

    def kind(self):
        name = type(self.module).__name__
        if isinstance(self.module, torch.nn.modules.conv._ConvNd):
            return "conv"
        if isinstance(self.module, torch.nn.Linear):
            return "fc"
        if "Norm" in name:
            return "bn"
        return "embedding" if "Embedding" in name else "other"

    def tensors(self):
        """Shapes as the language has them: a matrix of outputs x everything else, a vector by its length."""
        sizes = [list(p.shape) for p in self.module.parameters(recurse=False)]
        return [[s[0], math.prod(s[1:])] if len(s) > 1 else math.prod(s) for s in sizes]

    def saw(self, output, batch):
        """Per sample, of one call."""
        entries = output.numel() / batch
        self.activations += entries
        kind = self.kind()
        if kind == "conv":
            positions = math.prod(output.shape[2:])
            weight = self.module.weight
            per_output = weight.numel() / weight.shape[1 if self.module.transposed else 0]
            self.positions, self.flop = positions, self.flop + 2 * entries * per_output
        elif kind == "fc":
            self.positions = max(1, entries / self.module.out_features)
            self.flop += 2 * entries * self.module.in_features

    def described(self):
        times = {key: statistics.median(values) for key, values in
                 (("forward", self.forward_s), ("backward", self.backward_s)) if values}
        layer = {"name": self.name, "type": self.kind(), "tensors": self.tensors()}
        if self.flop:
            layer["forward_flop"] = round(self.flop)
        layer["activations"] = round(self.activations)
        if self.positions > 1:
            layer["positions"] = round(self.positions)
        return layer | {key: float(f"{seconds:.6g}") for key, seconds in times.items()}


def first_tensor(output):
    while isinstance(output, (tuple, list)) and output:
        output = output[0]
    return output if isinstance(output, torch.Tensor) else None


class Profile:
    """Marks when each layer has its output, and in the backward pass its gradient: what lies between two marks is the
    time of the layer before the later one (forward), or after the earlier one (backward). So all times add up."""

    def __init__(self, model, clock, batch):
        self.clock, self.batch = clock, batch
        self.layers, self.by_module, self.order = [], {}, []
        self.marks, self.looking, self.timing = [], True, False
        self.hooks = []
        for name, module in model.named_modules():
            if next(module.parameters(recurse=False), None) is None:
                continue
            layer = Layer(name or type(module).__name__, module)
            self.layers.append(layer)
            self.hooks.append(module.register_forward_hook(
                lambda module, inputs, output, layer=layer: self.after_forward(layer, output)))

    def after_forward(self, layer, output):
        output = first_tensor(output)
        if output is None:
            return
        if self.looking:
            layer.saw(output, self.batch)
            if layer not in self.order:
                self.order.append(layer)
        if self.timing:
            self.marks.append((layer, self.clock.now()))
            if output.requires_grad:
                output.register_hook(lambda gradient, layer=layer: self.gradient_marks.append((layer, self.clock.now())))

    def step(self, run_forward, run_backward):
        self.marks, self.gradient_marks = [], []
        begin = self.clock.now()
        loss = run_forward()
        middle = self.clock.now()
        run_backward(loss)
        end = self.clock.now()
        self.clock.finish()
        self.looking = False
        if self.timing:
            self.book(begin, middle, end)
        return self.clock.between(begin, end)

    def book(self, begin, middle, end):
        forward, backward = {}, {}
        before = begin
        for layer, mark in self.marks:
            forward[layer] = forward.get(layer, 0) + self.clock.between(before, mark)
            before = mark
        last = self.marks[-1][0]
        forward[last] += self.clock.between(before, middle)  # what follows the last layer, and the loss
        current, before = last, middle
        for layer, mark in self.gradient_marks + [(None, end)]:
            backward[current] = backward.get(current, 0) + self.clock.between(before, mark)
            current, before = layer, mark
        for layer in self.order:
            layer.forward_s.append(forward.get(layer, 0))
            layer.backward_s.append(backward.get(layer, 0))

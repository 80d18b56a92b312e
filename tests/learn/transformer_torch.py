"""Causal transformers as one writes them in PyTorch, in float64: transformer_torch.py CASES.json prints losses and gradients.

A case: shape, parameters (flat, matrices column-major), tokens and labels (samples x context). tests/learn/transformer.cpp compares."""
import json
import math
import sys

import torch
import torch.nn.functional as F



def answer(case):
    shape = case["shape"]
    vocabulary, context, width, heads, depth = (shape[k] for k in ("vocabulary", "context", "width", "heads", "depth"))
    flat = torch.tensor(case["parameters"], dtype=torch.float64, requires_grad=True)
    tokens, labels = torch.tensor(case["tokens"]), torch.tensor(case["labels"])
    used = 0

    def take(rows, columns=None):
        """The next matrix (rows x columns) or vector of the flat parameters."""
        nonlocal used
        size = rows * (columns or 1)
        part = flat[used:used + size]
        used += size
        return part if columns is None else part.reshape(columns, rows).T

    def norm(x, gain, bias):
        return F.layer_norm(x, (width,), gain, bias)

    def bias_of(rows):
        return take(rows) if shape["bias"] else None

    embedding, position = take(width, vocabulary), take(width, context)
    x = F.embedding(tokens, embedding.T) + position.T
    samples = tokens.shape[0]
    seen = torch.tril(torch.ones(context, context, dtype=torch.bool))
    for _ in range(depth):
        y = norm(x, take(width), bias_of(width))
        q, k, v = F.linear(y, take(3 * width, width), bias_of(3 * width)).split(width, dim=2)
        q, k, v = (t.view(samples, context, heads, width // heads).transpose(1, 2) for t in (q, k, v))
        scores = (q @ k.transpose(2, 3) / math.sqrt(width // heads)).masked_fill(~seen, -math.inf)
        y = (scores.softmax(dim=3) @ v).transpose(1, 2).reshape(samples, context, width)
        x = x + F.linear(y, take(width, width), bias_of(width))
        y = norm(x, take(width), bias_of(width))
        y = F.linear(y, take(4 * width, width), bias_of(4 * width))
        # PyTorch 1.13 has GELU's tanh form; older ones have not.
        y = F.gelu(y, approximate="tanh")
        x = x + F.linear(y, take(width, 4 * width), bias_of(width))
    x = norm(x, take(width), bias_of(width))
    assert used == flat.numel(), (used, flat.numel())
    loss = F.cross_entropy((x @ embedding).reshape(-1, vocabulary), labels.reshape(-1))
    loss.backward()
    return {"loss": loss.item(), "gradient": flat.grad.tolist()}


json.dump([answer(case) for case in json.load(open(sys.argv[1]))], sys.stdout)

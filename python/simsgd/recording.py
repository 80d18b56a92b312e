"""What simsgd.record gives. Records a few steps of a training script in PyTorch as a workload: hooks on the model, nothing to
change in the script.

A mark is set when a layer has its output, and one in the backward pass when the gradient of its output is there. What lies
between two marks is the time of the layer before the later one (forward), or after the earlier one (backward), so that all
times add up to the step. Every second step is without marks: what it takes is the time of a step."""

import contextlib
import json
import math
import os
import platform
import shutil
import statistics
import time
from collections import defaultdict
from typing import IO, Any, Callable, Dict, Iterator, List, Optional, Tuple, Union

import torch

WARM_UP = 3  # steps: cuDNN tries its algorithms in the first, allocators grow
COLLECTIVES = ("all_reduce", "all_gather", "all_gather_into_tensor", "_all_gather_base", "reduce_scatter", "reduce_scatter_tensor",
               "_reduce_scatter_base", "all_to_all", "all_to_all_single", "broadcast", "reduce", "send", "isend")


@contextlib.contextmanager
def output(path: Union[str, "os.PathLike[str]"], mode: str = "w") -> Iterator[IO[Any]]:
    """Where a file is written to, by the rules of the program's (results/atomic_file.hpp): it appears whole or not at all, under a temporary
    name that nobody else has until then. A link stays one, and what it names is written; a device or a pipe is written into."""
    target = os.path.realpath(path)
    new = not os.path.exists(target)
    whole = new or os.path.isfile(target)
    written = os.path.join(os.path.dirname(target), f".{os.path.basename(target)}.{os.urandom(8).hex()}") if whole else target
    encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
    with open(written, mode.replace("w", "x") if whole else mode, encoding=encoding, newline=newline) as file:
        try:
            yield file
            file.flush()
            if whole:
                os.fsync(file.fileno())
                if not new:
                    shutil.copymode(target, written)
                os.replace(written, target)
        except BaseException:
            if whole:
                os.unlink(written)
            raise


def bytes_of(given: Any) -> int:
    """Of all tensors in it."""
    if isinstance(given, (list, tuple)):
        return sum(map(bytes_of, given))
    return int(given.numel() * given.element_size()) if isinstance(given, torch.Tensor) else 0


def first_tensor(output: Any) -> Optional[torch.Tensor]:
    while isinstance(output, (tuple, list)) and output:
        output = output[0]
    return output if isinstance(output, torch.Tensor) else None


class Layer:
    """A module with parameters of its own, and what follows it that has none (activations, pooling)."""

    def __init__(self, name: str, module: Any):
        self.name, self.module = name or type(module).__name__, module
        self.activations, self.positions, self.flop = 0.0, 0.0, 0.0  # per sample
        self.times: Dict[str, List[float]] = {"forward": [], "backward": []}

    def kind(self) -> str:
        kinds = [("conv", torch.nn.modules.conv._ConvNd), ("fc", torch.nn.Linear)]
        name = type(self.module).__name__
        return next((kind for kind, of in kinds if isinstance(self.module, of)), "bn" if "Norm" in name else "embedding" if "Embedding" in name else "other")

    def saw(self, output: torch.Tensor, batch: Any) -> None:
        """A call's output. FLOPs of convolutions and matrices, a multiply-add as 2."""
        entries = output.numel() / batch
        self.activations += entries
        if self.kind() == "conv":
            weight = self.module.weight
            self.positions = math.prod(output.shape[2:])
            self.flop += 2 * entries * weight.numel() / weight.shape[1 if self.module.transposed else 0]
        elif self.kind() == "fc":
            self.positions = max(1, entries / self.module.out_features)
            self.flop += 2 * entries * self.module.in_features

    def described(self) -> Dict[str, Any]:
        """As the scenario language has it: a tensor is a matrix of outputs x everything else, a vector its length."""
        sizes = [p.shape for p in self.module.parameters(recurse=False)]
        times = {key: float(f"{statistics.median(values):.6g}") for key, values in self.times.items() if values}
        return {"name": self.name, "type": self.kind(), "activations": round(self.activations),
                "tensors": [[s[0], math.prod(s[1:])] if len(s) > 1 else math.prod(s) for s in sizes],
                **({"forward_flop": round(self.flop)} if self.flop else {}), **({"positions": round(self.positions)} if self.positions > 1 else {}), **times}


class Recording:
    """What `simsgd.record` gives: a context manager around steps of a script, then `workload`, `buckets`, `beside` and `save`."""

    def __init__(self, model: Any, batch: Optional[int] = None, device_name: Optional[str] = None,
                 name: Optional[str] = None, comm_hook: Optional[Callable[..., Any]] = None, comm_state: Any = None):
        self._ddp: Any = model if isinstance(model, torch.nn.parallel.DistributedDataParallel) else None
        self._model = model.module if self._ddp else model
        self._comm_hook, self._comm_state = comm_hook, comm_state
        self._batch, self._device_name, self._name = batch, device_name, name or type(self._model).__name__
        self._device = next(self._model.parameters()).device
        self._layers = [Layer(n, m) for n, m in self._model.named_modules() if next(m.parameters(recurse=False), None) is not None]
        self._order: List[Layer] = []  # in which they are first called
        self._seen, self._step = 0, -1  # whole steps so far; the step of now
        self._steps_s: List[float] = []  # of those without marks
        self._marks: Dict[str, List[Tuple[Any, Any]]] = {}  # of the step of now: forward, backward, buckets
        self._ready: Dict[int, List[Tuple[int, float]]] = defaultdict(list)  # of each bucket: bytes, seconds since the backward pass began
        self._sent: Dict[str, float] = defaultdict(float)
        self._active, self._marked, self._own_traffic, self._registered = False, False, False, False

    def __enter__(self) -> "Recording":
        self._hooks = [self._model.register_forward_pre_hook(self._begins)]
        self._hooks += [layer.module.register_forward_hook(lambda module, inputs, output, layer=layer: self._has_output(layer, output))
                        for layer in self._layers]
        self._hooks.append(self._model.register_forward_hook(self._is_forward))
        self._active = True
        if self._ddp and not self._registered:  # DDP takes one for good; after the recording it only passes on
            self._ddp.register_comm_hook(self._comm_state, self._bucket_hook())
            self._registered = True
        self._originals = {each: getattr(torch.distributed, each) for each in COLLECTIVES if hasattr(torch.distributed, each)}
        for each, function in self._originals.items():
            setattr(torch.distributed, each, self._counted(each, function))
        return self

    def __exit__(self, *error: Any) -> None:
        self._active = False
        for hook in self._hooks:
            hook.remove()
        for each, function in self._originals.items():
            setattr(torch.distributed, each, function)

    def _now(self) -> Any:
        """An instant on the device: a CUDA event, which costs the host nothing, or the CPU's clock."""
        if self._device.type != "cuda":
            return time.perf_counter()
        event: Any = torch.cuda.Event(enable_timing=True)
        event.record()
        return event

    def _between(self, begin: Any, end: Any) -> float:
        return float(begin.elapsed_time(end) * 1e-3 if self._device.type == "cuda" else end - begin)

    # Of a step.
    def _begins(self, model: Any, inputs: Any) -> None:
        self._batch = self._batch or inputs[0].shape[0]
        self._step = self._seen
        self._marked = self._seen >= WARM_UP and (self._seen - WARM_UP) % 2 == 0
        self._marks = {"forward": [], "backward": [], "buckets": []}
        self._begin = self._now()

    def _has_output(self, layer: Layer, output: Any) -> None:
        output = first_tensor(output)
        if output is None or not self._active:
            return
        if self._seen == 0:
            layer.saw(output, self._batch)
            if layer not in self._order:
                self._order.append(layer)
        if self._marked:
            self._marks["forward"].append((layer, self._now()))
            if output.requires_grad:
                output.register_hook(lambda gradient: self._marks["backward"].append((layer, self._now())))

    def _is_forward(self, model: Any, inputs: Any, output: Any) -> None:
        self._middle = self._now()
        output = first_tensor(output)
        if output is not None and output.requires_grad:
            output.register_hook(self._goes_back)

    def _goes_back(self, gradient: Any) -> None:
        self._back = self._now()
        torch.autograd.Variable._execution_engine.queue_callback(self._ends)  # at the end of the backward pass, as DDP has it

    def _ends(self) -> None:
        end = self._now()
        if self._device.type == "cuda":
            torch.cuda.synchronize()
        if self._marked and self._marks["forward"]:
            self._book(end)
        elif self._seen >= WARM_UP:
            self._steps_s.append(self._between(self._begin, end))
            for (index, size), mark in self._marks["buckets"]:
                self._ready[index].append((size, self._between(self._back, mark)))
        self._seen += 1

    def _book(self, end: Any) -> None:
        """What lies between two marks; what follows the last layer is its own, and so is the loss."""
        last = self._marks["forward"][-1][0]
        forward = [*self._marks["forward"], (last, self._middle)]
        backward = [*self._marks["backward"], (None, end)]
        spans = [("forward", layer, before, mark) for (_, before), (layer, mark) in zip([(None, self._begin), *forward], forward)]
        spans += [("backward", layer, before, mark) for (layer, before), (_, mark) in zip([(last, self._middle), *backward], backward)]
        taken: Dict[Tuple[str, Any], float] = defaultdict(float)
        for direction, layer, before, mark in spans:
            taken[direction, layer] += self._between(before, mark)
        for layer in self._order:
            for direction, values in layer.times.items():
                values.append(taken[direction, layer])

    # Traffic.
    def _bucket_hook(self) -> Callable[..., Any]:
        from torch.distributed.algorithms.ddp_comm_hooks.default_hooks import allreduce_hook
        inner = self._comm_hook or (lambda state, bucket: allreduce_hook(self._ddp.process_group, bucket))

        def hook(state: Any, bucket: torch.distributed.GradBucket) -> torch.futures.Future[torch.Tensor]:
            if self._active:
                self._marks["buckets"].append(((bucket.index(), bytes_of(bucket.buffer())), self._now()))
            self._own_traffic = True
            try:
                return inner(state, bucket)
            finally:
                self._own_traffic = False
        return hook

    def _counted(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            if not self._own_traffic and self._step >= WARM_UP:
                self._sent[name] += bytes_of([*arguments, *options.values()])
            return function(*arguments, **options)
        return counted

    # What was recorded.
    @property
    def buckets(self) -> List[Dict[str, float]]:
        """DDP's buckets of gradients, in the order in which they are sent: bytes, and median seconds from the beginning of
        the backward pass until they are ready. Empty without DDP."""
        return [{"bytes": times[-1][0], "ready_s": statistics.median(seconds for _, seconds in times)}
                for _, times in sorted(self._ready.items())]

    @property
    def beside(self) -> Dict[str, float]:
        """Bytes a step that travel beside gradients: DDP's broadcast of buffers, and calls of torch.distributed with the
        size of their tensors."""
        sent = {name: size / max(1, self._seen - WARM_UP) for name, size in self._sent.items()}
        if self._ddp and self._ddp.broadcast_buffers:
            sent["buffers"] = float(bytes_of([*self._model.buffers()]))
        return {name: size for name, size in sent.items() if size}

    @property
    def workload(self) -> Dict[str, Any]:
        """The "workload" of a scenario."""
        if not self._steps_s:
            raise ValueError(f"{self._seen} steps were recorded, and {WARM_UP} are to warm up. Record {WARM_UP + 2} or more, each with its "
                             "backward pass.")
        layers = [each.described() for each in [*self._order, *(each for each in self._layers if each not in self._order)]]
        numbers = sum(math.prod(t) if isinstance(t, list) else t for layer in layers for t in layer["tensors"])
        parameters = sum(each.numel() for each in self._model.parameters())
        if numbers != parameters:
            raise ValueError(f"The layers have {numbers} parameters and the model {parameters}: it shares some between modules.")
        device = self._device_name or device_name(self._device)
        source = (f"recorded by simsgd.record on {device}: PyTorch {torch.__version__}, median of {len(self._steps_s)} steps after {WARM_UP}"
                  + "".join(f"; bucket of {b['bytes']:.0f} bytes ready at {b['ready_s']:.4g} s" for b in self.buckets)
                  + "".join(f"; beside gradients {size:.0f} bytes a step of {name}" for name, size in self.beside.items()))
        step = {"device": device, "batch": self._batch, "forward_backward": float(f"{statistics.median(self._steps_s):.6g}"), "source": source}
        return {"name": self._name, "source": source, "batch": self._batch, "layer_times_batch": self._batch,
                "measured_on": device, "one_device": [step], "layers": layers}

    def save(self, path: str) -> str:
        text = to_text(self.workload)
        with output(path) as file:
            file.write(text)
        return path


def record(model: Any, batch: Optional[int] = None, device_name: Optional[str] = None, name: Optional[str] = None,
           comm_hook: Any = None, comm_state: Any = None) -> Recording:
    """Records the steps of a PyTorch script inside `with`: layers with their parameters, shapes, and times of both passes; of a
    model in DistributedDataParallel also when each bucket is ready. `batch`: samples a step (default: the first dimension of the
    model's input). `comm_hook`, `comm_state`: DDP's, where the script has one of its own, which DDP takes but once."""
    return Recording(model, batch, device_name, name, comm_hook, comm_state)


def to_text(workload: Dict[str, Any]) -> str:
    """JSON, a layer a line."""
    rest = {key: value for key, value in workload.items() if key != "layers"}
    rows = ",\n".join("    " + json.dumps(layer) for layer in workload["layers"])
    return json.dumps(rest, indent=2)[:-2] + f',\n  "layers": [\n{rows}\n  ]\n}}\n'


def device_name(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:
            names = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    except OSError:
        names = []
    return f"{names[0] if names else platform.machine()}, {torch.get_num_threads()} threads"

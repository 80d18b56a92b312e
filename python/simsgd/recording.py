"""Records a few steps of a training script in PyTorch as a workload: hooks on the model, nothing to change in the script."""

import json
import math
import platform
import statistics
from typing import Any, Dict, Optional

WARM_UP = 3  # steps: cuDNN tries its algorithms in the first, allocators grow


class Recording:
    """What `simsgd.record` gives: a context manager around steps of a script, then `workload` and `save`."""

    def __init__(self, model: Any, batch: Optional[int] = None, device_name: Optional[str] = None, name: Optional[str] = None):
        self._model, self._batch, self._device_name = model, batch, device_name
        self._name = name or type(model).__name__
        self._steps_s, self._seen, self._hooks = [], 0, []

    def __enter__(self) -> "Recording":
        from .torch_layers import Clock, Profile
        self._device = next(self._model.parameters()).device
        self._profile = Profile(self._model, Clock(self._device), self._batch)
        self._hooks = [self._model.register_forward_pre_hook(self._begins), self._model.register_forward_hook(self._is_forward)]
        return self

    def __exit__(self, *error: Any) -> None:
        self._profile.timing = False
        for hook in [*self._hooks, *self._profile.hooks]:
            hook.remove()

    def _begins(self, model: Any, inputs: Any) -> None:
        profile = self._profile
        if profile.batch is None:
            profile.batch = inputs[0].shape[0]
        profile.marks, profile.gradient_marks = [], []
        profile.timing = self._seen >= WARM_UP
        self._begin = profile.clock.now()

    def _is_forward(self, model: Any, inputs: Any, output: Any) -> None:
        from .torch_layers import first_tensor
        import torch
        self._middle = self._profile.clock.now()

        def backward_begins(gradient: Any) -> None:
            torch.autograd.Variable._execution_engine.queue_callback(self._ends)  # at the end of the backward pass, as DDP has it
        if first_tensor(output) is not None and first_tensor(output).requires_grad:
            first_tensor(output).register_hook(backward_begins)

    def _ends(self) -> None:
        profile = self._profile
        end = profile.clock.now()
        profile.clock.finish()
        profile.looking = False
        if profile.timing:
            profile.book(self._begin, self._middle, end)
            self._steps_s.append(profile.clock.between(self._begin, end))
        self._seen += 1

    @property
    def workload(self) -> Dict[str, Any]:
        """The "workload" of a scenario."""
        import torch
        if not self._steps_s:
            raise ValueError(f"{self._seen} steps were recorded, and {WARM_UP} are to warm up. Record {WARM_UP + 2} or more, each with its "
                             "backward pass.")
        profile = self._profile
        layers = [each.described() for each in [*profile.order, *(each for each in profile.layers if each not in profile.order)]]
        numbers = sum(math.prod(t) if isinstance(t, list) else t for layer in layers for t in layer["tensors"])
        parameters = sum(each.numel() for each in self._model.parameters())
        if numbers != parameters:
            raise ValueError(f"The layers have {numbers} parameters and the model {parameters}: it shares some between modules.")
        device = self._device_name or (torch.cuda.get_device_name(self._device) if self._device.type == "cuda"
                                       else f"{platform.machine()}, {torch.get_num_threads()} threads")
        source = f"recorded by simsgd.record on {device}: PyTorch {torch.__version__}, median of {len(self._steps_s)} steps after {WARM_UP}"
        step = {"device": device, "batch": profile.batch, "forward_backward": float(f"{statistics.median(self._steps_s):.6g}"), "source": source}
        return {"name": self._name, "source": source, "batch": profile.batch, "layer_times_batch": profile.batch,
                "measured_on": device, "one_device": [step], "layers": layers}

    def save(self, path: str) -> str:
        with open(path, "w", encoding="utf-8") as file:
            json.dump(self.workload, file, indent=1)
        return path


def record(model: Any, batch: Optional[int] = None, device_name: Optional[str] = None, name: Optional[str] = None) -> Recording:
    """Records the steps of a script inside `with`: layers with their parameters, shapes, and times of both passes. `batch`:
    samples a step (default: the first dimension of the model's input)."""
    return Recording(model, batch, device_name, name)

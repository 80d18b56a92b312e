#!/usr/bin/python3
"""The command line of simsgd.record: measures a network in PyTorch and writes it as a workload of SimSGD, its layers with
tensors, activations and flop, and the time of each layer's passes, on CUDA or CPU. docs/howto/torch_profile.md. Needs python3-torch (Debian 12
has 1.13), for named models python3-torchvision.

  measure/torch_profile.py resnet50 --batch 32 -o workload.json
  measure/torch_profile.py net.py:make --input 1x28x28 --batch 64 --classes 10 -o workload.json --kernels kernels.csv
"""

import argparse
import csv
import datetime
import importlib.util
import os
import sys


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)


try:
    import torch
except ImportError:
    fail("torch_profile needs PyTorch: apt-get install python3-torch python3-torchvision, and run it with /usr/bin/python3.")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "python"))
from simsgd.recording import WARM_UP, Recording, device_name, first_tensor, output, to_text  # noqa: E402  after the sentence above


def load_model(name, classes):
    if ":" in name:
        path, function = name.rsplit(":", 1)
        spec = importlib.util.spec_from_file_location("profiled", path)
        if spec is None or not os.path.isfile(path):
            fail(f"There is no Python file {path}. MODEL is a name of torchvision or FILE.py:FUNCTION.")
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        if not hasattr(module, function):
            fail(f"{path} has no function {function}.")
        return getattr(module, function)()
    try:
        import torchvision
    except ImportError:
        fail("Named models need torchvision: apt-get install python3-torchvision. Or give FILE.py:FUNCTION.")
    make = getattr(torchvision.models, name, None)
    if not callable(make):
        fail(f"torchvision has no model {name}. It has {', '.join(torchvision.models.list_models(torchvision.models))}.")
    extra = {"aux_logits": False, "init_weights": False} if name in ("googlenet", "inception_v3") else {}
    return make(weights=None, num_classes=classes, **extra)


def parsed_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", metavar="MODEL", help="of torchvision.models, or FILE.py:FUNCTION that returns a module")
    parser.add_argument("--batch", type=int, required=True, help="samples per step")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the workload")
    parser.add_argument("--input", default="3x224x224", metavar="CxHxW", help="shape of a sample (default: %(default)s)")
    parser.add_argument("--classes", type=int, default=1000, help="of the labels (default: %(default)s)")
    parser.add_argument("--tokens", type=int, metavar="N", help="samples are whole numbers below N, not pixels")
    parser.add_argument("--device", help="cuda, cpu (default: cuda where there is one)")
    parser.add_argument("--device-name", help="as scenarios call the device (default: what the machine calls it)")
    parser.add_argument("--threads", type=int, help="of the CPU (default: PyTorch's)")
    parser.add_argument("--repeats", type=int, default=10, help="steps measured (default: %(default)s)")
    parser.add_argument("--kernels", metavar="FILE.csv", help="also the operators' mean times, as simsgd import reads them")
    arguments = parser.parse_args()
    for name in ("batch", "repeats", "classes"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} is 1 at least")
    try:
        arguments.shape = [int(size) for size in arguments.input.split("x")]
        assert all(size > 0 for size in arguments.shape)
    except (ValueError, AssertionError):
        parser.error(f"--input is like 3x224x224. Found: {arguments.input}")
    return arguments


def write_kernels(path, step, batch):
    """Mean time of a call, without what it calls itself."""
    activities = [torch.profiler.ProfilerActivity.CPU]
    if torch.cuda.is_available():
        activities.append(torch.profiler.ProfilerActivity.CUDA)
    with torch.profiler.profile(activities=activities) as profiler:
        step()
    with output(path) as file:
        rows = csv.writer(file)
        rows.writerow(["quantity", "operation", "value_SI", "samples", "kernel", "processor", "batch"])
        for event in profiler.key_averages():
            for processor, total_us in (("cuda", event.self_cuda_time_total), ("cpu", event.self_cpu_time_total)):
                if total_us > 0:
                    rows.writerow(["time_s", "", f"{total_us * 1e-6 / event.count:.6g}", event.count, event.key, processor, batch])


def main():
    arguments = parsed_arguments()
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    torch.manual_seed(1)
    model = load_model(arguments.model, arguments.classes).to(device).train()
    for module in model.modules():
        if getattr(module, "inplace", False):
            module.inplace = False  # gradients of what is overwritten have no mark
    shape = [arguments.batch, *arguments.shape]
    inputs = torch.randint(arguments.tokens, shape, device=device) if arguments.tokens else torch.randn(shape, device=device)
    labels = torch.randint(arguments.classes, [arguments.batch], device=device)

    def forward():
        output = first_tensor(model(inputs))
        if output.dim() == 2 and output.shape[1] == arguments.classes:
            return torch.nn.functional.cross_entropy(output, labels)
        return output.float().mean()

    def backward(loss):
        for parameter in model.parameters():
            parameter.grad = None
        loss.backward()

    name = os.path.basename(arguments.model)
    with Recording(model, arguments.batch, arguments.device_name or device_name(device), name) as recorded:
        for _ in range(WARM_UP + 2 * arguments.repeats):  # one with marks, one without
            backward(forward())
    try:
        workload = recorded.workload
    except ValueError as error:
        fail(str(error))
    step, layers = workload["one_device"][0], workload["layers"]
    parameters = sum(p.numel() for p in model.parameters())
    step["source"] = f"measured with measure/torch_profile.py on {step['device']}, {datetime.date.today()}"
    workload["source"] = (f"{step['source']}: PyTorch {torch.__version__}, fp32, input {arguments.input}, median of {arguments.repeats} steps "
                          f"after {WARM_UP}, load {os.getloadavg()[0]:.2f}; {parameters} parameters. A layer's times include what follows "
                          "it that has no parameters.")
    with output(arguments.output) as file:
        file.write(to_text(workload))
    if arguments.kernels:
        write_kernels(arguments.kernels, lambda: backward(forward()), arguments.batch)
    in_layers_s = sum(layer.get("forward", 0) + layer.get("backward", 0) for layer in layers)
    print(f"{name}: {len(layers)} layers, {parameters} parameters, {step['forward_backward'] * 1e3:.4g} ms a step of {arguments.batch} "
          f"(layers: {in_layers_s * 1e3:.4g} ms)", file=sys.stderr)


if __name__ == "__main__":
    main()

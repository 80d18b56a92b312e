#!/usr/bin/env python3
"""Measures what kernels take on the GPU (or CPU) of this machine with PyTorch, and writes it as a device of SimSGD. docs/howto/my_device.md.

  measure/torch_device.py -o my_gpu.json --samples my_gpu.csv

What no program can measure is on the data sheet: its peak (--peak 494e12), its bandwidth (--bandwidth 3350e9), price and power."""

import argparse
import csv
import datetime
import json
import math
import os
import statistics
import sys
import time


def fail(sentence):
    print(sentence, file=sys.stderr)
    sys.exit(2)


try:
    import torch
except ImportError:
    fail("torch_device needs PyTorch: apt-get install python3-torch, and run it with /usr/bin/python3.")

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "python"))
from simsgd.recording import device_name, output  # noqa: E402  after the sentence above

DENSITIES = (0.001, 0.01, 0.1)


class Clock:
    """Seconds of a call: of the kernels alone (`kernels`), or with the host that launches them one after another (`calls`)."""

    def __init__(self, device, repeats):
        self.cuda, self.repeats = device.type == "cuda", repeats

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize()

    def calls(self, call, at_once=1):
        for _ in range(3):
            call()
        samples = []
        for _ in range(self.repeats):
            self.wait()
            begin = time.perf_counter()
            for _ in range(at_once):
                call()
            self.wait()
            samples.append((time.perf_counter() - begin) / at_once)
        return samples

    def kernels(self, call, at_once=10):
        """A recorded graph of `at_once` calls, replayed: no host is in the way. On a CPU there is no difference."""
        if not self.cuda:
            return self.calls(call)
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                call()
        torch.cuda.current_stream().wait_stream(stream)
        self.wait()
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(at_once):
                call()
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        graph.replay()
        samples = []
        for _ in range(self.repeats):
            begin.record()
            graph.replay()
            end.record()
            self.wait()
            samples.append(begin.elapsed_time(end) / 1000 / at_once)
        return samples


def shapes(largest):
    """Of products m, n, k: squares; factors of K-FAC (n, n, positions x samples) and their use; thin ones as PowerSGD's."""
    squares = [(s, s, s) for s in (128, 256, 512, 1024, 2048, 4096, 8192) if s <= largest]
    factors = [(n, n, k) for n in (64, 256, 576, 1152, 2304, 4608) for k in (1568, 6272, 25088, 100352) if n <= largest and n * k <= 2 * 10**8]
    used = [(64, 64, 576), (128, 128, 1152), (256, 256, 2304), (512, 512, 4608), (2048, 2048, 512), (1000, 1000, 2048), (512, 4608, 512), (256, 2304, 256)]
    thin = [(m, r, n) for m in (512, 1024, 4096) for n in (512, 4608) for r in (1, 4, 16, 64)]
    return [s for s in squares + factors + used + thin if max(s[:2]) <= largest]


class Device:
    def __init__(self, device, repeats, most_bytes, largest):
        self.device, self.clock, self.most, self.largest = device, Clock(device, repeats), most_bytes, largest
        self.rows, self.begun = [], time.monotonic()

    def note(self, kernel, samples, **size):
        median = statistics.median(samples)
        self.rows += [{"kernel": kernel, **size, "sample": i + 1, "time_s": f"{s:.6g}"} for i, s in enumerate(samples)]
        print(f"{time.monotonic() - self.begun:6.1f} s  {kernel} {size}: {median * 1e6:.4g} us", file=sys.stderr)
        return median

    def vector(self, entries, dtype=torch.float32):
        return torch.randn(entries, device=self.device).to(dtype)

    def passes(self):
        """Bytes a second of an activation in place, reads and writes counted; and what launches cost."""
        reached = 0.0
        for entries in (10**5, 10**6, 10**7, 10**8):
            if 4 * entries <= self.most:
                x = self.vector(entries)
                reached = 8 * entries / self.note("relu", self.clock.kernels(lambda: x.relu_()), entries=entries)  # the largest counts: no cache holds it
        tiny = self.vector(16)
        return reached, self.note("launch", self.clock.calls(lambda: tiny.add_(1), 200))

    def products(self, precision):
        times = {}
        for m, n, k in shapes(self.largest):
            dtype = torch.bfloat16 if precision == "bf16" else torch.float32
            a, b = self.vector(m * k, dtype).view(m, k), self.vector(k * n, dtype).view(k, n)
            out = torch.empty(m, n, device=self.device, dtype=dtype)
            times[m, n, k] = self.note("gemm", self.clock.kernels(lambda: torch.mm(a, b, out=out)), precision=precision, rows=m, columns=n, inner=k)
        return times

    def selections(self):
        times = []
        for density in DENSITIES:
            for entries in (10**4, 10**5, 10**6, 10**7, 10**8):
                if 4 * entries <= self.most:
                    x, k = self.vector(entries), max(1, int(density * entries))
                    s = self.note("select", self.clock.calls(lambda: torch.topk(x.abs(), k, sorted=False)), entries=entries, chosen=k)
                    times.append({"density": density, "entries": entries, "time": f"{s * 1e3:.4g} ms"})
        return times

    def inverses(self):
        times = []
        for n in (64, 128, 256, 512, 1152, 2304, 4608):
            if n <= self.largest:
                x = self.vector(n * n).view(n, n)
                factor = x @ x.T / n + torch.eye(n, device=self.device)

                def invert(a=factor):
                    return torch.cholesky_inverse(torch.linalg.cholesky_ex(a)[0])
                times.append({"dimension": n, "time": f"{self.note('invert', self.clock.calls(invert), rows=n) * 1e3:.4g} ms"})
        return times

    def factorisations(self):
        times = {}
        for m in (256, 1024, 4608, 16384):
            for n in (1, 2, 4, 8, 16, 32, 64, 256):
                if n <= m <= 4 * self.largest:
                    x = self.vector(m * n).view(m, n)
                    times[m, n] = self.note("qr", self.clock.calls(lambda: torch.linalg.qr(x)), rows=m, columns=n)
        return times

    def codecs(self):
        """Seconds a number: gathering tensors and adding a residual; rounding to 8 bits by blocks of 256."""
        def gather():
            torch.cat(tensors, out=flat)
            flat.add_(rest)

        def to_int8():
            blocks = x.view(-1, 256)
            scale = blocks.abs().amax(1, keepdim=True).div_(127)
            return (blocks / scale).round_().to(torch.int8)
        entries = min(25_600_000, self.most // 16 // 256 * 256)
        sizes = [entries // 64] * 64  # tensors of a network
        tensors, flat, rest, x = [self.vector(s) for s in sizes], self.vector(sum(sizes)), self.vector(sum(sizes)), self.vector(entries)
        told = {"accumulate": self.note("accumulate", self.clock.kernels(gather, 3), entries=sum(sizes)) / sum(sizes)}
        for name, dtype in (("fp16", torch.float16), ("bf16", torch.bfloat16)):
            told[name] = self.note(name, self.clock.kernels(lambda: x.to(dtype), 3), entries=entries) / entries
        told["int8"] = self.note("int8", self.clock.kernels(to_int8, 3), entries=entries) / entries
        told["sign"] = self.note("sign", self.clock.kernels(lambda: torch.sign(x).to(torch.int8), 3), entries=entries) / entries
        return told

    def copies(self):
        if self.device.type != "cuda":
            return None
        entries = min(64 * 10**6, self.most // 4)
        host, there = torch.empty(entries, pin_memory=True), self.vector(entries)
        down = self.note("copy_down", self.clock.calls(lambda: host.copy_(there, non_blocking=True)), bytes=4 * entries)
        up = self.note("copy_up", self.clock.calls(lambda: there.copy_(host, non_blocking=True)), bytes=4 * entries)
        return 4 * entries / max(down, up)


def least_squares(rows, wanted):
    """Coefficients of a few columns that leave the least relative error: torch's own solver, in double."""
    a = torch.tensor([[value / w for value in row] for row, w in zip(rows, wanted)], dtype=torch.float64)
    return torch.linalg.lstsq(a, torch.ones(len(wanted), 1, dtype=torch.float64)).solution.flatten().tolist()


def rounded(value):
    return float(f"{value:.3g}")


def large_rate(products):
    """FLOPs a second of large squares."""
    rates = {size: 2 * math.prod(size) / s for size, s in products.items()}
    return statistics.median([rate for size, rate in rates.items() if len(set(size)) == 1 and size[0] >= 2048] or [max(rates.values())])


def described(machine, measured, precision, peak, memory):
    """The device's file, with what its law of products is off by."""
    pass_Bps, launch = measured["passes"]
    products = measured["products"]
    rate = large_rate(products)
    peak, memory = peak or rate, memory or pass_Bps
    times = [{"m": m, "n": n, "k": k, "time": f"{s * 1e6:.3g} us"} for (m, n, k), s in sorted(products.items(), key=lambda item: math.prod(item[0]))]
    flop = {(m, n): 2 * m * n * n - 2 / 3 * n**3 for m, n in measured["qr"]}
    column, overhead = least_squares([[n, 1] for _, n in flop], [max(1e-9, s - flop[size] / rate) for size, s in measured["qr"].items()])
    codecs = measured["codecs"]
    quantised = {name: f"{codecs[name] * 1e9:.3g} ns" for name in ("fp16", "bf16", "int8", "sign")}
    return {
        "name": machine, "peak_flops": f"{peak / 1e12:.4g} TFLOPS", "memory_bandwidth": f"{memory / 1e9:.4g} GB/s",
        "launch": f"{launch * 1e6:.3g} us",
        "vector_pass": {"efficiency": min(1.0, rounded(pass_Bps / memory))},
        **({"copy_bandwidth": f"{measured['copies'] / 1e9:.3g} GB/s"} if measured["copies"] else {}),
        "selection_times": measured["selections"],
        "gemm": {"efficiency": min(1.0, rounded(rate / peak)), "memory_bound": True, "times": times, "gather": f"{6 * launch * 1e6:.3g} us"},
        "inverse": {"times": measured["inverses"], "overhead": f"{2 * launch * 1e6:.3g} us"},
        "qr": {"column": f"{max(0.0, column) * 1e6:.3g} us", "overhead": f"{max(0.0, overhead) * 1e6:.3g} us"},
        "accumulate": f"{codecs['accumulate'] * 1e9:.3g} ns",
        "source": f"measured by measure/torch_device.py on {datetime.date.today()}: {machine}, PyTorch {torch.__version__}, {precision}. Products: "
                  f"{rate / 1e12:.4g} TFLOPS of large squares. gather: six launches; inverse.overhead: two. qr: column and overhead of least relative error. "
                  f"A number rounded by PyTorch, eager: {quantised}.",
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-o", "--output", required=True, metavar="FILE.json", help="the device")
    parser.add_argument("--samples", metavar="FILE.csv", help="also every sample")
    parser.add_argument("--precision", choices=("tf32", "fp32", "bf16"), default="tf32", help="of products (default: %(default)s)")
    parser.add_argument("--peak", type=float, metavar="FLOP/S", help="of the data sheet, at that precision (default: what large squares reach)")
    parser.add_argument("--bandwidth", type=float, metavar="B/S", help="of the device's memory, from the data sheet (default: what a pass reaches)")
    parser.add_argument("--repeats", type=int, default=10, help="samples of each size, whose median counts (default: %(default)s)")
    parser.add_argument("--device", help="cuda, cpu (default: cuda where there is one)")
    parser.add_argument("--threads", type=int, help="of the CPU (default: PyTorch's)")
    parser.add_argument("--largest", type=int, default=8192, help="rows of the largest matrix (default: %(default)s)")
    arguments = parser.parse_args()
    if arguments.repeats < 1 or arguments.largest < 128:
        parser.error("--repeats is 1 at least, --largest 128 at least")
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    device = torch.device(arguments.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if device.type == "cuda":
        if not torch.cuda.is_available():
            fail("PyTorch finds no CUDA device here. Use --device cpu.")
        torch.cuda.set_device(device.index or 0)
    torch.backends.cuda.matmul.allow_tf32 = arguments.precision == "tf32"
    free = torch.cuda.mem_get_info()[0] if device.type == "cuda" else 2 * 10**9
    with torch.no_grad():
        of = Device(device, arguments.repeats, min(free // 8, 10**9, 64 * arguments.largest**2), arguments.largest)
        measured = {"passes": of.passes(), "copies": of.copies(), "products": of.products(arguments.precision), "selections": of.selections(),
                    "inverses": of.inverses(), "qr": of.factorisations(), "codecs": of.codecs()}
    name = device_name(device)
    file = described(name, measured, "fp32" if device.type == "cpu" and arguments.precision == "tf32" else arguments.precision, arguments.peak, arguments.bandwidth)
    memory = torch.cuda.get_device_properties(0 if device.index is None else device.index).total_memory if device.type == "cuda" else \
        os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    file["memory"] = f"{memory / 1e9:.4g} GB"
    with output(arguments.output) as out:
        json.dump(file, out, indent=2)
        out.write("\n")
    if arguments.samples:
        columns = ["kernel", "precision", "rows", "columns", "inner", "entries", "chosen", "bytes", "sample", "time_s"]
        with output(arguments.samples) as out:
            rows = csv.DictWriter(out, columns, lineterminator="\n")
            rows.writeheader()
            rows.writerows(of.rows)


if __name__ == "__main__":
    main()

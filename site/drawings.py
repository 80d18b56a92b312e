#!/usr/bin/env python3
"""Drawings of what each method sends and whom it waits for: a few steps of four workers, the last of which is slower. The program simulates
them, and its timeline is drawn: nothing is drawn by hand.

  site/drawings.py PROGRAM [METHOD...]      writes docs/figures/methods/METHOD.svg, of all methods that have a page
  site/drawings.py PROGRAM --check          says which are not what it would write"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "docs/figures/methods"
OWN_PAGES = {"glance"}

# A step of 96 ms on a device, a model of 25 MB, and links that need 50 ms for it once.
SCENARIO = {
    "name": "drawing",
    "cluster": {"device": {"name": "GPU", "peak_flops": "10 TFLOPS", "memory": "16 GB", "memory_bandwidth": "500 GB/s", "selection": "0.1 ns"}, "workers": 4,
                "nic": {"bandwidth": "4 Gbps", "latency": "20 us"}, "topology": {"name": "star"}},
    "workload": {"name": "eight layers", "batch": 32, "layers": [{"name": f"layer {i}", "type": "fc", "tensors": [[884, 884]], "forward": "4 ms", "backward": "8 ms"} for i in range(8)]},
    "learner": None,
    "stragglers": [{"name": "constant", "factor": 1.5, "workers": [3]}],
    "stop": {"steps": 2},
}
# What else a method needs to show itself in so few steps: steps, and changes of the scenario.
SEVERAL = {"/algorithm/inner_steps": 2}
BUCKETS = {"/algorithm/fusion_threshold": "8 MB"}
SETTINGS = {
    "allreduce_sgd": (2, BUCKETS),
    "dear": (3, BUCKETS),
    "d_psgd": (2, BUCKETS),
    "d_kfac": (2, BUCKETS),
    "mpd_kfac": (2, BUCKETS),
    "parameter_server": (2, BUCKETS | {"/algorithm/servers": 1}),
    "dropcompute": (2, {"/algorithm/micro_batches": 4, "/algorithm/deadline": "100 ms"}),
    "nonblocking": (2, {"/algorithm/micro_batches": 4}),
    "local_sgd": (4, {"/algorithm/period": 2}),
    "des_loc": (4, {"/algorithm/period": 2}),
    "diloco": (4, SEVERAL),
    "sparseloco": (4, SEVERAL),
    "noloco": (4, SEVERAL),
    "async_local_sgd": (4, SEVERAL),
    "decoupled_diloco": (4, SEVERAL),
    "halos": (4, SEVERAL | {"/algorithm/accumulate": 1}),
    "wagma": (4, {"/algorithm/period": 4}),
    "eager_sgd": (3, {}),
    "topk_sgd": (2, {"/algorithm/density": 0.1}),
    "gtopk": (2, {"/algorithm/density": 0.1}),
    "bytescheduler": (3, {"/algorithm/partition": "4 MB"}),
    "ok_topk": (2, {"/algorithm/density": 0.1}),
    "sidco": (2, {"/algorithm/density": 0.1}),
    "hsdp": (2, {"/algorithm/shards": 2}),
    "dp_kfac": (2, BUCKETS),
    "ad_psgd": (3, {}),
    "sgp": (3, BUCKETS),
    "matcha": (3, {}),
    "onebit_adam": (3, {"/algorithm/warmup_steps": 1}),
    "kfac": (2, {"/cluster/workers": 1, "/stragglers": []}),
}

NAMES = {"all_reduce": "all-reduce", "reduce_scatter": "reduce-scatter", "all_gather": "all-gather", "all_to_all": "all-to-all",
         "a matching of ring": "matching", "bruck": "all-gather", "gtopk tree": "merges"}
SHORT = {"all-reduce": "AR", "reduce-scatter": "RS", "all-gather": "AG", "broadcast": "B", "forward": "f", "backward": "b"}
NOTHING = "wait for all"  # an operation that carries nothing
LEFT, WIDTH, BAR, LANE, GAP, LETTER = 62, 760, 16, 13, 14, 5.3
COMPUTE, OTHER, OPERATION, LATE, MESSAGE, WAIT = "#5b7fb8", "#b8803a", "#4f9468", "#a9cdb7", "#2f8f5b", "#9a9a9a"
# An image follows the system's theme; on the site it follows the page's, see hooks.py.
STYLE = (".timeline text{font:10px system-ui,sans-serif}.timeline .s{font-size:9px}.timeline .t{fill:#57606a}.timeline .w{fill:#fff}"
         "@media (prefers-color-scheme:dark){.timeline .t{fill:#9da7b3}}")


def put(json_object, pointer, value):
    *path, last = pointer[1:].split("/")
    for key in path:
        json_object = json_object.setdefault(key, {})
    json_object[last] = value


def simulated(program, method):
    steps, changes = SETTINGS.get(method, (2, {}))
    scenario = json.loads(json.dumps(SCENARIO)) | {"algorithm": {"name": method}, "stop": {"steps": steps}}
    for pointer, value in changes.items():
        put(scenario, pointer, value)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "drawing.json"
        file.write_text(json.dumps(scenario))
        ran = subprocess.run([program, "run", str(file), "-o", folder + "/out"], capture_output=True, text=True)
        if ran.returncode != 0:
            sys.exit(f"{method}: {ran.stderr}")
        return json.loads((Path(folder) / "out/timeline.json").read_text())["traceEvents"], steps


class Drawing:
    def __init__(self, method, events, steps):
        self.method, self.steps = method, steps
        spans = [event for event in events if event["ph"] == "X"]
        self.compute = [e for e in spans if e["tid"] == 7]
        self.waits = [e for e in spans if e["tid"] == 0 and e["name"] == "wait"]
        self.ends = [e for e in spans if e["tid"] == 0 and e["name"].startswith("ProfilerStep")]
        self.operations = [e for e in spans if 20 <= e["tid"] < 1000]
        self.arrivals = {(e["pid"], e["tid"], e["ts"]) for e in events if e["ph"] == "f" and e["cat"] == "wait"}
        self.messages = [e for e in spans if e["name"] == "send" and 1000 <= e["tid"] < 2000]
        self.ranks = 1 + max(e["pid"] for e in spans)
        self.end = max(e["ts"] + e["dur"] for e in spans)
        self.parts, self.lanes, self.shortened = [], {}, set()
        for e in sorted(self.operations, key=lambda e: (e["ts"], e["tid"])):  # operations of a time lie one below the other
            ends = self.lanes.setdefault(e["pid"], [])
            free = next((i for i, end in enumerate(ends) if end <= e["ts"] + 1e-3), len(ends))
            ends[free:free + 1] = [e["ts"] + e["dur"]]
            e["lane"] = free
        self.depth = max([1] + [len(ends) for ends in self.lanes.values()])
        self.pitch = BAR + LANE * self.depth + GAP

    def x(self, time):
        return LEFT + (WIDTH - LEFT - 8) * time / self.end

    def top(self, rank):
        return 22 + rank * self.pitch

    def bar(self, e, y, height, colour, label, late=0):
        """`late`: how much of it passed before the last worker came."""
        x, width, before = self.x(e["ts"]), self.x(e["ts"] + e["dur"]) - self.x(e["ts"]), self.x(late) - self.x(0)
        if before:
            self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{before:.1f}" height="{height}" rx="1.5" fill="{LATE}"/>')
        x, width = x + before, width - before
        self.parts.append(f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(width, .8):.1f}" height="{height}" rx="1.5" fill="{colour}"/>')
        whole = label.split(",")[0]
        words = [word for word in (label, whole, SHORT.get(whole, "")) if len(word) * LETTER + 2 < width]
        if words and words[0] == SHORT.get(whole) and height < BAR:
            self.shortened.add(whole)
        if words and words[0]:
            self.parts.append(f'<text class="{"w" if height == BAR else "w s"}" x="{x + width / 2:.1f}" y="{y + height / 2 + 3.3:.1f}" '
                              f'text-anchor="middle">{words[0]}</text>')

    def operation(self, e):
        name = e["args"].get("Collective name", "custom")
        name = e["name"].removeprefix("ncclDevKernel_").lower().replace("_", " ") if name == "custom" else name
        label = NAMES.get(name, name)
        if e["args"].get("Group size", self.ranks) < self.ranks:
            label += f", {e['args']['Group size']} of {self.ranks}"
        ends = [ts - e["ts"] for pid, tid, ts in self.arrivals if (pid, tid) == (e["pid"], e["tid"]) and e["ts"] < ts < e["ts"] + e["dur"]]
        colour = LATE if label == NOTHING else OPERATION
        self.bar(e, self.top(e["pid"]) + BAR + e["lane"] * LANE + 1, LANE - 1, colour, "" if label == NOTHING else label, max(ends, default=0))

    def message(self, e):
        one, other = e["args"]["from"], e["args"]["to"]
        down = other > one
        y1 = self.top(one) + (BAR + LANE * self.depth if down else 0)
        y2 = self.top(other) + (0 if down else BAR + LANE * self.depth)
        x1, x2 = self.x(e["ts"]), self.x(e["ts"] + e["dur"])
        length = ((x2 - x1) ** 2 + (y2 - y1) ** 2) ** .5
        dx, dy = (x2 - x1) / length, (y2 - y1) / length
        head = " ".join(f"{x2 - 5 * dx + s * 2.2 * dy:.1f},{y2 - 5 * dy - s * 2.2 * dx:.1f}" for s in (1, -1))
        self.parts.append(f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" stroke="{MESSAGE}" stroke-opacity=".55"/>'
                          f'<polygon points="{x2:.1f},{y2:.1f} {head}" fill="{MESSAGE}"/>')

    def text(self):
        for rank in range(self.ranks):
            y = self.top(rank) + 12
            self.parts.append(f'<text class="t" x="4" y="{y:.1f}">worker {rank}</text>')
        for e in self.waits:
            x, width, y = self.x(e["ts"]), self.x(e["ts"] + e["dur"]) - self.x(e["ts"]), self.top(e["pid"])
            self.parts.append(f'<path d="M{x:.1f} {y + BAR / 2}h{width:.1f}" stroke="{WAIT}" stroke-dasharray="2 2"/>')
        for e in self.messages:
            self.message(e)
        computing = {"forward", "backward", "micro-batch", "optimizer"}
        for e in self.compute:
            name = e["name"]
            self.bar(e, self.top(e["pid"]), BAR, COMPUTE if name in computing else OTHER, "" if name == "optimizer" else name)
        for e in self.operations:
            self.operation(e)
        for e in self.ends:
            x, y = self.x(e["ts"] + e["dur"]), self.top(e["pid"])
            self.parts.append(f'<path d="M{x:.1f} {y - 4}v{BAR + 8}" stroke="{WAIT}" stroke-width="1.5"/>')
        foot = self.top(self.ranks) + 2
        x = LEFT
        drawn = "\n".join(self.parts)
        for colour, words in ((COMPUTE, "computes"), (OTHER, "other kernels"), (OPERATION, "sends and receives"), (LATE, "has begun, and waits for others"),
                              (MESSAGE, "message"), (WAIT, "waits"), (None, "| end of a step")):
            if colour and colour not in drawn:
                continue
            if colour in (MESSAGE, WAIT):
                dashes = ' stroke-dasharray="2 2"' if colour == WAIT else ""
                self.parts.append(f'<path d="M{x:.1f} {foot + 5}h14" stroke="{colour}"{dashes}/>')
            elif colour:
                self.parts.append(f'<rect x="{x:.1f}" y="{foot}" width="14" height="9" rx="1.5" fill="{colour}"/>')
            x += 18 if colour else 0
            self.parts.append(f'<text class="t" x="{x:.1f}" y="{foot + 9}">{words}</text>')
            x += 12 + len(words) * LETTER
        self.parts.append(f'<text class="t" x="{WIDTH - 8}" y="9" text-anchor="end">{self.end / 1000:,.0f} ms</text>')
        if self.shortened:
            words = ", ".join(f"{SHORT[name]}: {name}" for name in sorted(self.shortened))
            self.parts.append(f'<text class="t" x="{LEFT}" y="9">{words}</text>')
        said = f"{self.steps} steps of {self.ranks} workers with {self.method}, as simulated"
        return (f'<svg xmlns="http://www.w3.org/2000/svg" class="timeline" viewBox="0 0 {WIDTH} {foot + 16}" width="{WIDTH}" role="img" aria-label="{said}" fill="none">'
                f"<title>{said}</title><style>{STYLE}</style>\n" + "\n".join(self.parts) + "\n</svg>\n")


def main(program, *words):
    check = "--check" in words
    methods = [word for word in words if word != "--check"]
    methods = methods or sorted({page.stem for page in (ROOT / "docs/algorithms").glob("*.md")} - OWN_PAGES)
    FIGURES.mkdir(parents=True, exist_ok=True)
    stale = []
    for method in methods:
        text = Drawing(method, *simulated(program, method)).text()
        file = FIGURES / f"{method}.svg"
        if check and (not file.exists() or file.read_text() != text):
            stale.append(method)
        elif not check:
            file.write_text(text)
    print(f"{len(methods)} drawings" + (f", stale: {' '.join(stale)}; site/drawings.py writes them" if stale else ""))
    return bool(stale)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""The other side of door.hpp: what a method in Python sees. Names that begin with an underscore and are not defined here are
functions of door.cpp. docs/python.md documents Worker."""

import collections
import os
import sys

sys.stdout = sys.stderr  # results have standard output to themselves
sys.path[:0] = [path for path in os.environ.get("SIMSGD_PYTHON_PATH", "").split(os.pathsep) if path and path not in sys.path]


class Operation:
    """What every operation returns, for the method to yield; its result is what the yield gives."""

    def unyielded(self, *_, **__):
        raise TypeError("an operation was used in place of its result. Write yield before it: w.apply((yield w.gradient()))")

    __bool__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __neg__ = unyielded
    __getitem__ = __iter__ = __len__ = __float__ = __array__ = unyielded


ASKED = Operation()
ENDED = object()


Graph = collections.namedtuple("Graph", "name neighbours edges matchings laplacian_eigenvalues")
Workload = collections.namedtuple("Workload", "name batch micro_batches bytes_per_parameter layers")
Layer = collections.namedtuple("Layer", "name tensors forward_s backward_s forward_flop activations positions")


class Tensor:
    """Values of the learner: immutable, computed by other threads when somebody looks. Empty where nothing is learned.
    Sums and multiples are tensors; numpy takes one as an array, without a copy."""

    __slots__ = ("_w", "_c")

    def __init__(self, worker, capsule):
        self._w = worker
        self._c = capsule

    def __bool__(self):
        return self._c is not None

    def __len__(self):
        return _view(self._w._d, self._c)[1]

    @property
    def __array_interface__(self):
        address, size = _view(self._w._d, self._c)
        return {"shape": (size,), "typestr": "<f4", "data": (address or 1, True), "version": 3}

    def numpy(self):
        import numpy
        return numpy.asarray(self)

    def __add__(self, other):
        return self._w.combine((1.0, 1.0), (self, other)) if isinstance(other, Tensor) else NotImplemented

    def __sub__(self, other):
        return self._w.combine((1.0, -1.0), (self, other)) if isinstance(other, Tensor) else NotImplemented

    def __mul__(self, factor):
        return self._w.combine((float(factor),), (self,)) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__

    def __truediv__(self, divisor):
        return self * (1 / divisor)

    def __neg__(self):
        return self * -1.0

    def __getitem__(self, entries):
        begin, end, step = entries.indices(len(self))
        return Tensor(self._w, _slice(self._w._d, self._c, begin, max(begin, end)))


def raw(worker, values):
    """What C++ has of it."""
    if isinstance(values, Tensor):
        return values._c
    if values is None:
        return None
    if values is ASKED:
        values.unyielded()
    import numpy
    array = numpy.ascontiguousarray(values, dtype=numpy.float32).ravel()
    return _tensor(worker._d, array.__array_interface__["data"][0], array.size)


class Worker:
    """One rank. What is to be yielded says so; the rest happens at once."""

    def __init__(self, door, rank, size, seed):
        self._d = door
        self.rank, self.size, self.seed = rank, size, seed
        self.model_bytes = _model_bytes(door)

    def __getattr__(self, name):
        raise AttributeError(f"a worker has no {name}. {nearest(name, dir(Worker))}docs/python.md lists what a worker can do")

    step = property(lambda self: _step(self._d))
    now = property(lambda self: _now(self._d))
    slower = property(lambda self: _slower(self._d))
    learning_rate = property(lambda self: _learning_rate(self._d))
    neighbours = property(lambda self: _neighbours(self._d))
    layers = property(lambda self: _layers(self._d))

    @property
    def graph(self):
        """The scenario's graph of workers ("graph" of the algorithm), of all ranks; without one its name is empty."""
        return Graph(*_graph(self._d))

    @property
    def workload(self):
        """Name, batch, micro_batches, bytes_per_parameter, and layers: name, shapes of tensors, seconds, FLOPs."""
        *rest, layers = _workload(self._d)
        return Workload(*rest, tuple(Layer(*each) for each in layers))

    def next_step(self):
        """Yield: False when the run is over."""
        _next_step(self._d)
        return ASKED

    # Replica.
    def parameters(self):
        return Tensor(self, _parameters(self._d))

    def set(self, values):
        _set(self._d, raw(self, values))

    @property
    def optimizer_state(self):
        """The optimizer's vectors by their names, such as "momentum"; empty tensors before the first update."""
        return {name: Tensor(self, each) for name, each in zip(_state_names(self._d), _state(self._d))}

    def restore(self, parameters, optimizer_state):
        """Parameters and the optimizer's vectors together: of another moment, or another worker."""
        names = _state_names(self._d)
        if {*optimizer_state} != {*names}:
            raise ValueError(f"the optimizer has {', '.join(names) or 'no vectors'}, not {', '.join(optimizer_state) or 'none'}")
        _restore(self._d, raw(self, parameters), tuple(raw(self, optimizer_state[name]) for name in names))

    def apply(self, gradient):
        """An update by the scenario's optimizer. Its time passes at this yield, or at the next one."""
        _apply(self._d, raw(self, gradient))
        return ASKED

    def keep_shard(self, part, parts):
        """From now on the replica is this part of the model, as reduce_scatter cuts; gradients to apply too. The method says
        `shards = True`."""
        _keep_shard(self._d, part, parts)

    def combine(self, weights, terms, scale=1.0):
        """scale * sum of weights[i] * terms[i], in this order, in float32."""
        return Tensor(self, _combine(self._d, tuple(weights), tuple(raw(self, each) for each in terms), scale))

    def zeros_like(self, values):
        return self.combine((0.0,), (values,))

    def concatenate(self, parts):
        return Tensor(self, _concatenate(self._d, tuple(raw(self, each) for each in parts)))

    def with_entries(self, whole, begin, entries):
        """`whole` with other numbers from `begin` on."""
        return Tensor(self, _with_entries(self._d, raw(self, whole), begin, raw(self, entries)))

    # Compute.
    def gradient(self, part=(0, 1), ready=None, before_forward=None, after_forward=None, before_backward=None,
                 after_backward=None, parameters=None, ready_at=(), factors=False, taps=False):
        """Yield: the mean gradient of this step's mini-batch, or of part (i, n) of it. Hooks are functions of (layer,
        micro_batch, last), or generators that may wait; ready has (layer, offset, parameters, gradient). `parameters` is a
        function that gives those at which it is taken, asked when the first forward pass is through. `ready_at`: places of
        the tensors that ready is called for, counted as their gradients become ready, last layer first; none: all. With
        `factors` the gradient and K-FAC's factors of the same pass, packed (kfac); with `taps` the gradient and all that
        layers saw in it, for taps()."""
        if factors and taps:
            raise ValueError("gradient() returns factors or taps, not both; factors are made of taps")
        statistics = "factors" if factors else "taps" if taps else ""
        asked = None if parameters is None else lambda: raw(self, parameters())
        _gradient(self._d, part[0], part[1], ready, before_forward, after_forward, before_backward, after_backward, asked,
                  tuple(ready_at), statistics)
        return ASKED

    def taps(self, seen):
        """A pair of numpy arrays for each layer with weights, in forward order: its inputs (and ones, where it has biases), and the
        gradients of its outputs, of the mean loss. A row is a sample, or a place in one. Waits for the numerics."""
        values, arrays = seen.numpy() if seen else (), []
        while len(values):
            numbers, rows = int(values[0]), int(values[1])
            arrays.append(values[2:2 + numbers * rows].reshape(rows, numbers))
            values = values[2 + numbers * rows:]
        return [*zip(arrays[::2], arrays[1::2])]

    def recover_by(self, how, restarted=None):
        """After a crash: "recompute" what was lost (the default), or "rejoin" with the checkpoint; restarted() is called then."""
        _recover_by(self._d, how, restarted)

    def spend(self, activity, seconds, label=""):
        """Yield: computing of its own, such as "compute" or "selection"."""
        _spend(self._d, activity, seconds, label)
        return ASKED

    def spend_on(self, activity, seconds, result):
        """Yield: the same, of which `result` comes; a real machine computes that instead."""
        _spend_on(self._d, activity, seconds, raw(self, result))
        return ASKED

    def kernel_s(self, name, *sizes):
        """Seconds of a kernel of the device: gemm m n k; vector_pass read written (bytes); select k n; invert n; qr m n;
        quantise numbers bits; accumulate numbers."""
        a, b, c = (*sizes, 0, 0, 0)[:3]
        return _kernel_s(self._d, name, a, b, c)

    # Collectives. `bytes` are the workload's, of the whole model by default.
    def _ask(self, kind, values, scale, bytes, tensors, traffic, group, channel, schedule, root=0,
             entries=()):
        size = self.model_bytes if bytes is None else bytes
        _collective(self._d, kind, raw(self, values), scale, size, tensors, traffic, group, channel, schedule, root, tuple(entries))
        return ASKED

    def all_reduce(self, values=None, scale=1.0, bytes=None, tensors=1, traffic="gradient", group=0, channel=0, schedule="",
                   entries=()):
        """Yield: scale * sum of what everybody in the group gives; of the `entries` (begin, end) of it alone."""
        return self._ask("all_reduce", values, scale, bytes, tensors, traffic, group, channel, schedule, 0, entries)

    def reduce_scatter(self, values=None, scale=1.0, bytes=None, tensors=1, traffic="gradient", group=0, channel=0, schedule=""):
        return self._ask("reduce_scatter", values, scale, bytes, tensors, traffic, group, channel, schedule)

    def all_gather(self, values=None, bytes=None, tensors=1, traffic="gradient", group=0, channel=0, schedule=""):
        """Yield: a tuple of what everybody gives; `bytes` of all of it."""
        return self._ask("all_gather", values, 1.0, bytes, tensors, traffic, group, channel, schedule)

    def all_to_all(self, values=None, bytes=None, tensors=1, traffic="gradient", group=0, channel=0, schedule=""):
        return self._ask("all_to_all", values, 1.0, bytes, tensors, traffic, group, channel, schedule)

    def broadcast(self, values=None, root=0, bytes=None, tensors=1, traffic="model", group=0, channel=0, schedule=""):
        return self._ask("broadcast", values, 1.0, bytes, tensors, traffic, group, channel, schedule, root)

    def reduce(self, values=None, root=0, scale=1.0, bytes=None, tensors=1, traffic="gradient", group=0, channel=0, schedule=""):
        return self._ask("reduce", values, scale, bytes, tensors, traffic, group, channel, schedule, root)

    def barrier(self, group=0, channel=0):
        return self._ask("barrier", None, 1.0, 0.0, 1, "control", group, channel, "")

    def exchange(self, stages, values=None, effect=None, bytes=None, tensors=1, traffic="model", group=0, channel=0, together=False,
                 merge=None, sent=None, finish=None, merges=None, merge_s=0.0):
        """Yield: what `effect(rank, contributions)` makes of the values that were sent here; it must not look at others. In each of
        `stages`, the same on all ranks, rank i sends its own to stage[i] (-1: nobody), all messages at once; `together`: when
        all have come. `bytes` of a message.

        With `merge` instead of `effect` values are merged on their way, stage after stage: merge(rank, sender, held, received)
        is what rank holds then, for `merge_s` seconds. sent(held): what of it a message takes along; finish(rank, held): what
        rank gets in the end. In stages of which `merges` says False what comes takes the place of what is held."""
        size = self.model_bytes if bytes is None else bytes

        def own(function):
            return function and (lambda *arguments: raw(self, function(*arguments)))
        stages = tuple(tuple(each) for each in stages)
        merges = () if merge is None else tuple(map(int, merges or [True] * len(stages)))
        _exchange(self._d, stages, raw(self, values), own(effect), size, tensors, traffic, group, channel, together,
                  own(merge), own(sent), own(finish), merges, float(merge_s))
        return ASKED

    def group(self, ranks):
        """A number for `group`; ranks ascending, this one among them."""
        return _group(self._d, tuple(ranks))

    def predict(self, collective):
        """Seconds that it takes when all arrive together: w.predict(w.all_reduce(x))."""
        return _predict(self._d)

    # Messages and handles.
    def send(self, to, tag, values=None, numbers=(), bytes=0.0, traffic="model"):
        """Yield: until it has arrived."""
        _send(self._d, to, tag, raw(self, values), tuple(map(float, numbers)), bytes, traffic)
        return ASKED

    def receive(self, source, tag):
        """Yield: (values, numbers, from)."""
        _receive(self._d, source, tag)
        return ASKED

    def start(self, operation):
        """Yield: a handle of a collective, a send or a receive, which goes on meanwhile."""
        _start(self._d)
        return ASKED

    def wait(self, handle):
        """Yield: what it gives."""
        _wait(self._d, handle)
        return ASKED

    def wait_any(self, handles):
        """Yield: the index of one that is complete."""
        _wait_any(self._d, tuple(handles))
        return ASKED

    def done(self, handle):
        return _done(self._d, handle)

    # Background: handlers and actions must not wait.
    def serve(self, tag, handler):
        """handler(values, numbers, from) for every message that is posted here with the tag."""
        _serve(self._d, tag, handler)

    def post(self, to, tag, values=None, numbers=(), bytes=0.0, traffic="control"):
        """Nobody waits. The receiver serves the tag from before its first yield on."""
        caller = sys._getframe(1)
        line = caller.f_lineno if caller.f_code.co_filename == self._file else 0
        _post(self._d, to, tag, raw(self, values), tuple(map(float, numbers)), bytes, traffic, line)

    def then(self, handle, action):
        _then(self._d, handle, action)

    def hear(self, tag, heard):
        """heard(number) for each number that another rank floods with the tag."""
        return _hear(self._d, tag, heard)

    def flood(self, tag, number):
        _flood(self._d, tag, number)

    def event(self):
        return _event(self._d)

    def signal(self, event):
        _signal(self._d, event)

    def timer(self, seconds):
        return _timer(self._d, seconds)

    # Preemption.
    def start_gradient(self, part=(0, 1), batch=0):
        """Yield: a handle of a gradient that may be given up, one at a time; `batch`: the mini-batch of which step (0: this one)."""
        _start_gradient(self._d, *part, batch)
        return ASKED

    def cancel(self, gradient):
        """Yield."""
        _cancel(self._d, gradient)
        return ASKED

    def take(self, gradient):
        """Yield: a gradient that was waited for."""
        _take(self._d, gradient)
        return ASKED

    # Record.
    def number(self, name, value):
        _number(self._d, name, value)

    def staleness(self, steps):
        _staleness(self._d, steps)

    def table(self, name, columns, rows):
        _table(self._d, name, tuple(columns), tuple(tuple(map(float, row)) for row in rows))

    def random(self, shared=False):
        """The program's random numbers of this rank and step, from their beginning; `shared`: the same ones on all ranks."""
        return Random(self, _random(self._d, shared))

    # Parts of methods that the program has.
    def fragment_parameters(self, index, count):
        return _fragment(self._d, index, count)[0]

    def fragment_tensors(self, index, count):
        return int(_fragment(self._d, index, count)[1])

    def fragment(self, index, count):
        """The replica's values of part `index` of `count` parts of consecutive layers."""
        return Tensor(self, _own_part(self._d, index, count))

    def set_fragment(self, index, count, values):
        _set_own_part(self._d, index, count, raw(self, values))

    def rounded(self, values, bits):
        return Tensor(self, _rounded(self._d, raw(self, values), bits))

    def wait_avoiding(self, part, tag=1, activation="solo"):
        """Group operations that nobody waits for (Li et al., TPDS 2021): part(version, arrived) returns this rank's
        all_reduce, perhaps in the background."""
        return WaitAvoiding(self, _wait_avoiding(self._d, tag, activation == "majority", part))

    def sparsifier(self, density=0.001, put_back="paper"):
        """Top-k with error feedback, and gTop-k's merge."""
        return Sparsifier(self, _sparsifier(self._d, density, put_back))

    def kfac(self, damping=0.002, old_weight=0.05, kl_clip=0.001, by_pi=False):
        """K-FAC's averages, inverses and preconditioned gradients (Martens and Grosse, ICML 2015), with what they cost."""
        return Kfac(self, _kfac(self._d, damping, by_pi, old_weight, kl_clip))


class Random:
    """Numbers that depend on the seed, the rank and the step, and on nothing else that is drawn."""

    def __init__(self, worker, stream):
        self._w, self._s = worker, stream

    def uniform(self):
        """Between 0 and 1, and neither of them."""
        return _uniform(self._w._d, self._s)

    def below(self, n):
        """A whole number from 0 to n - 1."""
        return _below(self._w._d, self._s, n)

    def normal(self):
        return _normal(self._w._d, self._s)

    def normals(self, like):
        """A tensor as long as that one; empty where nothing is learned."""
        return Tensor(self._w, _normals(self._w._d, self._s, len(like)))

    def shuffled(self, values):
        """A list of them in a random order, each order equally likely."""
        values = [*values]
        for i in range(len(values) - 1, 0, -1):
            j = self.below(i + 1)
            values[i], values[j] = values[j], values[i]
        return values


class WaitAvoiding:
    def __init__(self, worker, number):
        self._w, self._n = worker, number

    def call(self):
        """Yield: (fresh, its result, the latest result that this rank has seen)."""
        _call_service(self._w._d, self._n)
        return ASKED


class Sparsifier:
    def __init__(self, worker, number):
        self._w, self._n = worker, number

    def choose(self, gradient):
        """Yield: (residual + gradient, its k largest entries)."""
        _choose(self._w._d, self._n, raw(self._w, gradient))
        return ASKED

    def merge(self, selected):
        """Yield: the k entries that all ranks get."""
        _merge(self._w._d, self._n, raw(self._w, selected))
        return ASKED

    def keep(self, accumulated, selected, merged):
        """The residual is what was not sent."""
        _keep(self._w._d, self._n, raw(self._w, accumulated), raw(self._w, selected), raw(self._w, merged))

    def mean(self, merged):
        """As a dense vector, over the number of workers."""
        return Tensor(self._w, _dense(self._w._d, self._n, raw(self._w, merged)))

    def note(self):
        """At the end of a run: the table of merges."""
        _note_merges(self._w._d, self._n)


class Kfac:
    """Of each factor of the workload, A and G of a layer after the other: `numbers` of its triangle, `factor_s` and `inverse_s` of
    computing it, at nominal speed; `precondition_s` of a gradient. Of the learner's layers `layers`: (dimension of A, of G, where
    their packed triangles begin). All values are packed as w.gradient(factors=True) gives them: of 128 columns at a time the
    upper triangle of their square on the diagonal, then the rectangle above it, each column by column."""

    def __init__(self, worker, number):
        self._w, self._n = worker, number
        self.numbers, self.factor_s, self.inverse_s, (self.precondition_s,) = _kfac_costs(worker._d, number)
        self.layers = tuple(tuple(map(int, each)) for each in _kfac_layers(worker._d, number))

    def average(self, factors):
        """The running averages take these in."""
        _kfac_average(self._w._d, self._n, raw(self._w, factors))

    def invert(self):
        """All inverses, of the averages and with damping; also kept for precondition()."""
        return Tensor(self._w, _kfac_invert(self._w._d, self._n))

    def set_inverses(self, inverses):
        """Those of another worker."""
        _kfac_set_inverses(self._w._d, self._n, raw(self._w, inverses))

    def precondition(self, gradient):
        return Tensor(self._w, _kfac_precondition(self._w._d, self._n, raw(self._w, gradient)))

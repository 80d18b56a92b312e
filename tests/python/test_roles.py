"""What a worker is to a method in C++, it is to one in Python: every role, and what a method says of itself."""

import ast
import glob
import os
import re
import unittest

import numpy

import simsgd
from scenario import SMALL, SOURCES, TIMED, losses

STEPS = 6
GRAPH = {"/algorithm/graph": {"name": "ring"}}

# Where a method in Python finds what the headers of the roles declare: names of door.py's Worker.
FOUND = {
    "Worker": {"rank": "rank", "size": "size", "seed": "seed", "workload": "workload", "graph": "graph", "now": "now", "step": "step",
               "next_step": "next_step", "wait_any": "wait_any", "executor": "combine",
               "stream": "random"},
    "Replica": {"size": "parameters", "parameters": "parameters", "set": "set", "apply": "apply", "keep_shard": "keep_shard",
                "learning_rate": "learning_rate", "optimizer": "optimizer_state", "state": "optimizer_state", "restore": "restore"},
    "Compute": {"gradient": "gradient", "spend": "spend", "spend_on": "spend_on", "slower": "slower", "update": "apply",
                "recover_by": "recover_by"},
    "GradientOptions": {"part": "gradient", "batch": "start_gradient", "before_forward": "gradient", "after_forward": "gradient",
                        "before_backward": "gradient", "after_backward": "gradient", "gradient_ready": "gradient",
                        "ready_at": "gradient", "parameters": "gradient", "take_statistics": "gradient",
                        "statistics": "taps"},
    "Messages": {"start_send": "start", "start_receive": "start", "send": "send", "receive": "receive"},
    "Message": {"bytes": "send", "traffic": "send", "values": "send", "numbers": "send", "from": "receive"},
    "Collectives": {"group": "group", "start": "start", "run": "all_reduce", "predict": "predict"},
    "CollectiveOptions": {"bytes": "all_reduce", "traffic": "all_reduce", "tensors": "all_reduce", "group": "all_reduce",
                          "channel": "all_reduce", "schedule": "all_reduce", "contribution": "all_reduce"},
    "AllReduce": {"scale": "all_reduce", "entries": "all_reduce"},
    "ReduceScatter": {"scale": "reduce_scatter"},
    "AllGather": {}, "AllToAll": {}, "Barrier": {},
    "Broadcast": {"root": "broadcast"},
    "Reduce": {"scale": "reduce", "root": "reduce"},
    "CustomCollective": {"messages": "exchange", "effect": "exchange", "member_effect": "exchange", "merging": "exchange"},
    "Merging": {"sent": "exchange", "finish": "exchange", "merge": "exchange"},
    "Background": {"serve": "serve", "post": "post", "then": "then", "hear": "hear", "flood": "flood", "make_event": "event",
                   "signal": "signal", "start_timer": "timer"},
    "Preemption": {"start": "start_gradient", "cancel": "cancel", "take": "take"},
    "Recorder": {"staleness": "staleness", "table": "table", "number": "number"},
}

# What only a codec of the scenario's (sim/roles/message_coder.hpp) sets of an operation.
OF_CODECS = {"sum_scale", "size"}


def declared(name):
    """Functions and members of a class or a struct of the headers, without what is for machines."""
    for file in [os.path.join(SOURCES, "sim", "worker.hpp"), *sorted(glob.glob(os.path.join(SOURCES, "sim", "roles", "*.hpp")))]:
        with open(file, encoding="utf-8") as opened:
            text = opened.read()
        found = re.search(r"^(?:class|struct) " + name + r"\b[^;{]*\{(.*?)(?:^\};|\};$|\Z)", text, re.M | re.S)
        if found and "{" in found[0]:
            body = re.split(r"^ (?:private|protected):|^ +///? For machines", found[1], flags=re.M)[0]
            body = re.sub(r"\{[^{}]*\}", "", re.sub(r"//.*", "", body))
            plain = re.sub(r"<[^;]*?>+", "", body)
            functions = re.findall(r"(?<![\w(:~.])([a-z]\w*)\((?=[^;]*\)[^;]*;?)", plain)
            members = re.findall(r"(?:^|[ ,])([a-z]\w*)(?: = [^;,]*)?(?=;|, \w+[;,])", re.sub(r"\([^;]*\)", "", plain))
            return {name for name in functions if not name.endswith("_")}, {*members}
    raise AssertionError(f"no header of the roles has {name}")


class Door(unittest.TestCase):
    def test_every_function_of_every_role_has_its_place_in_python(self):
        with open(os.path.join(SOURCES, "algorithms", "python", "door.py"), encoding="utf-8") as file:
            worker = next(node for node in ast.parse(file.read()).body if isinstance(node, ast.ClassDef) and node.name == "Worker")
        names = {node.name for node in worker.body if isinstance(node, ast.FunctionDef)}
        names |= {target.id for node in worker.body if isinstance(node, ast.Assign) for target in node.targets}
        names |= {target.attr for node in ast.walk(worker) if isinstance(node, ast.Assign) for each in node.targets
                  for target in ast.walk(each) if isinstance(target, ast.Attribute)}
        ways = {"Worker": {"replica", "compute", "messages", "collectives", "record", "background", "preemption"}}
        for role, found in FOUND.items():
            with self.subTest(role=role):
                functions, members = declared(role)
                if role in ("Worker", "Replica", "Compute", "Messages", "Collectives", "Background", "Preemption", "Recorder"):
                    self.assertEqual(functions - ways.get(role, set()) - {role, "start_one", "begin", "code_by"}, {*found})
                else:
                    self.assertLessEqual(members - OF_CODECS, {*found})
                for place in found.values():
                    self.assertIn(place, names)


def restores(w):
    while (yield w.next_step()):
        gradient = yield w.gradient()
        before, vectors = w.parameters(), w.optimizer_state
        assert list(vectors) == ["momentum"] and bool(vectors["momentum"]) == (w.step > 1 and bool(gradient))
        yield w.apply(gradient)
        after = w.parameters()
        if not gradient:
            continue
        old = vectors["momentum"].numpy() if w.step > 1 else 0
        assert numpy.allclose(w.optimizer_state["momentum"].numpy(), 0.9 * old + gradient.numpy(), rtol=1e-5, atol=1e-7)
        w.restore(before, vectors)
        assert numpy.array_equal(w.parameters().numpy(), before.numpy())
        yield w.apply(gradient)
        assert numpy.array_equal(w.parameters().numpy(), after.numpy())


def restores_what_is_not_there(w):
    yield w.next_step()
    w.restore(w.parameters(), {"velocity": None})


def looks_around(w):
    graph, workload = w.graph, w.workload
    assert graph.name == "ring" and w.neighbours == graph.neighbours[w.rank] and len(graph.edges) == w.size
    assert sorted(edge for matching in graph.matchings for edge in matching) == sorted(graph.edges)
    assert len(graph.laplacian_eigenvalues) == w.size and abs(graph.laplacian_eigenvalues[0]) < 1e-12
    assert workload.batch == 128 and [sum(s[0] * (s[1] if len(s) > 1 else 1) for s in each.tensors) for each in workload.layers] == [*w.layers]
    while (yield w.next_step()):
        yield w.gradient()


def without_a_graph(w):
    assert w.graph.name == "" and w.neighbours == () and w.graph.edges == ()
    while (yield w.next_step()):
        yield w.gradient()


def gives_up(w):
    """Nonblocking: half of the gradients are given up, the others are taken."""
    taken = 0
    while (yield w.next_step()):
        running = yield w.start_gradient()
        if w.step % 2:
            yield w.wait(w.timer(1e-4))
            yield w.cancel(running)
            running = yield w.start_gradient(batch=w.step)
        yield w.wait(running)
        w.apply((yield w.take(running)))
        taken += 1
        yield w.barrier()
    w.number("taken", taken)


def takes_too_early(w):
    yield w.next_step()
    yield w.take((yield w.start_gradient()))


def takes_twice(w):
    yield w.next_step()
    running = yield w.start_gradient()
    yield w.wait(running)
    yield w.take(running)
    yield w.take(running)


def waits_for_what_was_cancelled(w):
    yield w.next_step()
    running = yield w.start_gradient()
    yield w.cancel(running)
    yield w.wait(running)


def starts_two(w):
    yield w.next_step()
    yield w.start_gradient()
    yield w.start_gradient()


def takes_without_yielding(w):
    yield w.next_step()
    running = yield w.start_gradient()
    yield w.wait(running)
    w.take(running)
    yield w.barrier()


def takes_a_timer(w):
    yield w.next_step()
    yield w.take(w.timer(1.0))


def looks_at_the_present(w):
    """Nobody serves here, so that clocks run ahead of events: what a method calls then must not wait inside Python."""
    heard = [0]
    if w.rank == 0:
        w.serve(3, lambda values, numbers, source: heard.append(source))
    while (yield w.next_step()):
        for i in range(5):
            yield w.spend("compute", 1e-3 * (1 + (w.rank * 7 + w.step * 3 + i) % 5))
            event, timer = w.event(), w.timer(1e-4)
            assert not w.done(timer)
            if w.rank:
                w.post(0, 3, numbers=[w.now])
            w.signal(event)
            assert w.done(event)
            yield w.wait(timer)
            assert w.done(timer)
    w.number("heard", len(heard) - 1)


def posts_from_hooks(w):
    heard = [0]
    if w.rank == 0:
        w.serve(3, lambda values, numbers, source: heard.append(source))

    def tell(*about):
        if w.rank:
            w.post(0, 3, numbers=[w.now])
    while (yield w.next_step()):
        yield w.spend("compute", 1e-3 * (1 + (w.rank * 7 + w.step * 3) % 5))
        yield w.gradient(before_backward=tell, ready=tell, ready_at=(0,))
        yield w.barrier()
    w.number("heard", len(heard) - 1)


def posts_to_itself(w):
    yield w.next_step()
    w.post(w.rank, 3)


def receives_from_nobody(w):
    yield w.next_step()
    yield w.receive(w.size, 3)


def half_a_part(w):
    yield w.next_step()
    yield w.gradient(part=(2, 2))


def by_pieces(w):
    """An all-reduce of the gradient in two pieces, put together again, is that of the whole."""
    while (yield w.next_step()):
        gradient = yield w.gradient()
        whole = yield w.all_reduce(gradient, scale=1 / w.size)
        if not gradient:
            continue
        middle = len(gradient) // 3
        pieces = []
        for entries in ((0, middle), (middle, len(gradient))):
            pieces.append((yield w.all_reduce(gradient, scale=1 / w.size, entries=entries)))
        assert [len(each) for each in pieces] == [middle, len(gradient) - middle]
        together = w.concatenate(pieces)
        assert numpy.array_equal(together.numpy(), whole.numpy())
        mixed = w.with_entries(gradient, 0, pieces[0])
        assert numpy.array_equal(mixed.numpy(), numpy.concatenate([whole.numpy()[:middle], gradient.numpy()[middle:]]))
        yield w.apply(together)


def beyond_the_end(w):
    yield w.next_step()
    gradient = yield w.gradient()
    yield w.all_reduce(gradient, entries=(0, len(gradient) + 1))


def merges(w):
    """A sum by recursive doubling, merged on the way, is the all-reduce's but for the order of additions."""
    stages = [[rank ^ distance for rank in range(w.size)] for distance in (1, 2)]

    def add(rank, sender, held, received):
        assert rank ^ sender in (1, 2)
        return held + received
    while (yield w.next_step()):
        gradient = yield w.gradient()
        before = w.now
        mean = yield w.exchange(stages, gradient, merge=add, finish=lambda rank, held: held / w.size, bytes=1e6, merge_s=0.5)
        assert w.now - before > 2 * 0.5
        if gradient:
            expected = yield w.all_reduce(gradient, scale=1 / w.size)
            assert numpy.allclose(mean.numpy(), expected.numpy(), rtol=1e-4, atol=1e-6)
        yield w.apply(mean)


def merges_by_a_tree(w):
    """Up a tree and down again: what comes down takes the place of what is held."""
    up = [[-1, 0, -1, 2], [-1, -1, 0, -1]]
    down = [[2, -1, -1, -1], [1, -1, 3, -1]]
    while (yield w.next_step()):
        gradient = yield w.gradient()
        summed = yield w.exchange(up + down, gradient, merge=lambda rank, sender, held, received: held + received,
                                  merges=[True, True, False, False])
        everybody = yield w.all_gather(summed)
        if everybody:
            assert all(numpy.array_equal(everybody[0].numpy(), each.numpy()) for each in everybody)
        yield w.apply(summed / w.size if summed else None)


def merges_for_some(w):
    yield w.next_step()
    yield w.exchange([[1, -1, -1, -1]], None, merge=lambda rank, sender, held, received: held)


def hears_of_two_tensors(w):
    heard = []
    while (yield w.next_step()):
        heard.clear()
        yield w.gradient(ready=lambda layer, offset, parameters, gradient: heard.append(layer), ready_at=(0, 3))
    w.number("heard", len(heard))
    w.number("falls", heard[0] >= heard[1])


def kfac(w):
    """D-KFAC: gradients and factors are averaged, everybody inverts all of them."""
    k = w.kfac()
    while (yield w.next_step()):
        gradient, factors = yield w.gradient(factors=True)
        mean = yield w.all_reduce(gradient, scale=1 / w.size)
        yield w.spend_on("factor", sum(k.factor_s) * w.slower, factors)
        k.average((yield w.all_reduce(factors, scale=1 / w.size, bytes=4 * sum(k.numbers), tensors=len(k.numbers), traffic="factor")))
        yield w.spend_on("inverse", sum(k.inverse_s) * w.slower, k.invert())
        direction = k.precondition(mean)
        yield w.spend_on("factor", k.precondition_s * w.slower, direction)
        yield w.apply(direction)


kfac.sends, kfac.activities = ["gradient", "factor"], ["factor", "inverse"]


def preconditions_at_once(w):
    k = w.kfac()
    yield w.next_step()
    k.precondition((yield w.gradient()))


def only_updates(w, options):
    if options["parts"] > 1:
        w.keep_shard(w.rank, w.size)
    while (yield w.next_step()):
        yield w.apply(None)


def speaks_for_itself(w):
    while (yield w.next_step()):
        yield w.all_reduce(traffic="model")


speaks_for_itself.sends = ["model"]
speaks_for_itself.notes = ["the outer optimizer takes no time"]


def memory(about):
    return {"shards": about["vector_bytes"] * 3 / about["workers"], "activations": about["replica"]["activations"]}


speaks_for_itself.memory = memory


def sends_what_it_does_not_say(w):
    yield w.next_step()
    yield w.all_reduce(traffic="factor")


sends_what_it_does_not_say.sends = ["gradient"]


def selects_what_it_does_not_say(w):
    yield w.next_step()
    yield w.spend("selection", 1.0)


selects_what_it_does_not_say.activities = []


def sends_letters(w):
    yield w.next_step()


sends_letters.sends = ["letters"]


def posts_where_nobody_serves(w):
    if w.rank == 1:
        w.serve(3, lambda values, numbers, source: None)
    while (yield w.next_step()):
        yield w.spend("compute", 1.0)
        if w.rank == 0:
            w.post(1, 3)
            w.post(2, 3)


def serves_badly(w):
    w.serve(3, lambda values, numbers, source: 1 / 0)
    yield w.next_step()
    w.post((w.rank + 1) % w.size, 3)
    yield w.spend("compute", 1.0)


def draws(w):
    """Of a rank and a step, whatever was drawn before; the shared ones are everybody's."""
    before = []
    while (yield w.next_step()):
        own, shared = w.random(), w.random(shared=True)
        numbers = [own.uniform(), own.below(1000), own.normal(), shared.uniform(), shared.below(1000)]
        again = w.random()
        assert numbers[:3] == [again.uniform(), again.below(1000), again.normal()]
        assert 0 < numbers[0] < 1 and 0 <= numbers[1] < 1000 and numbers not in before
        before.append(numbers)
        assert sorted(own.shuffled(range(9))) == [*range(9)]
        gathered = []
        for source in range(w.size):
            if source != w.rank:
                sent = yield w.start(w.send(source, 5, numbers=numbers))
                gathered.append((yield w.receive(source, 5))[1])
                yield w.wait(sent)
        for other in gathered:
            assert list(other)[3:] == numbers[3:] and list(other)[:3] != numbers[:3]
        noise = own.normals(w.parameters())
        if noise:
            one, many = w.random(), w.random().normals(noise)
            assert numpy.array_equal(many.numpy(), numpy.array([one.normal() for _ in range(len(noise))], numpy.float32))
            w.apply((yield w.gradient()) + 1e-3 * noise)
    w.number("first_draw", before[0][0])


def draws_below_nothing(w):
    yield w.next_step()
    w.random().below(0)


def sees_what_layers_see(w):
    """The gradient is made of the taps: the sum over samples of output gradient times input, in the layer's order; and K-FAC's factors."""
    while (yield w.next_step()):
        gradient, seen = yield w.gradient(taps=True)
        again, factors = yield w.gradient(factors=True)
        if not gradient:
            assert w.taps(seen) == []
            continue
        made = []
        for inputs, outputs in w.taps(seen):
            assert len(inputs) == len(outputs) == 16 and numpy.all(inputs[:, -1] == 1)
            made += [(inputs[:, :-1].T @ outputs).ravel(), outputs.sum(axis=0)]
        assert numpy.allclose(numpy.concatenate(made), gradient.numpy(), rtol=1e-4, atol=1e-6)
        (a, g, a_at, g_at), inputs = w.kfac().layers[0], w.taps(seen)[0][0]
        packed = factors.numpy()[a_at:a_at + a * (a + 1) // 2]
        assert numpy.allclose((inputs.T @ inputs / 16)[numpy.tril_indices(a)], packed, rtol=1e-3, atol=1e-4)
        norms = [float((inputs ** 2).sum(axis=1) @ (outputs ** 2).sum(axis=1)) for inputs, outputs in w.taps(seen)]  # of samples' gradients
        w.number("sum_of_norms", sum(norms))
        yield w.apply(gradient)


def wants_both(w):
    yield w.next_step()
    yield w.gradient(taps=True, factors=True)


class Roles(unittest.TestCase):
    def run_method(self, method, scenario=TIMED, overrides=None, **options):
        return simsgd.run(scenario, {"/stragglers": [], "/stop/steps": STEPS, **(overrides or {})}, algorithm=method, options=options)

    def said(self, method, scenario=TIMED, error=simsgd.RunFailed):
        with self.assertRaises(error) as caught:
            self.run_method(method, scenario)
        return str(caught.exception)

    def both(self, method, overrides=None):
        self.run_method(method, TIMED, overrides)
        return self.run_method(method, SMALL, overrides)

    def test_the_optimizers_vectors_are_seen_and_put_back(self):
        self.both(restores)
        self.assertIn("the optimizer has momentum, not velocity", self.said(restores_what_is_not_there))

    def test_the_graph_and_the_workload_are_seen(self):
        self.both(looks_around, GRAPH)
        self.both(without_a_graph)
        with self.assertRaisesRegex(simsgd.InputError, "graph"):
            self.run_method(looks_around, TIMED, {"/algorithm/graph": {"name": "circle"}})

    def test_gradients_are_given_up_and_taken(self):
        self.assertEqual(self.both(gives_up).metrics["taken"], STEPS)

    def test_nothing_waits_inside_python(self):
        self.assertGreater(self.run_method(looks_at_the_present, TIMED, {"/cluster/workers": 16}).metrics["heard"], 15 * 5 * (STEPS - 1))
        self.assertGreater(self.run_method(posts_from_hooks, TIMED, {"/cluster/workers": 16}).metrics["heard"], 15 * 20 * (STEPS - 1))

    def test_a_gradient_that_is_not_there_is_told_and_nothing_ends_badly(self):
        for scenario in (TIMED, SMALL):
            self.assertIn("take() was called before the gradient was ready. Write `yield w.wait(gradient)` first.",
                          self.said(takes_too_early, scenario))
            self.assertIn("this one was already taken or cancelled", self.said(takes_twice, scenario))
            self.assertIn("wait() takes the gradient that start_gradient() returned, and takes it once", self.said(waits_for_what_was_cancelled, scenario))
            self.assertIn("was called while another gradient is in progress", self.said(starts_two, scenario))
            self.assertIn("take was asked for and not yielded before barrier", self.said(takes_without_yielding, scenario))
            self.assertIn("or is something else", self.said(takes_a_timer, scenario))
            self.assertIn("with i from 0 to n - 1, not (2, 2)", self.said(half_a_part, scenario))
        self.assertIn("A message needs two different ranks from 0 to 3, not 0 and 0", self.said(posts_to_itself))
        self.assertIn("A message needs two different ranks from 0 to 3, not 0 and 4", self.said(receives_from_nobody))

    def test_what_is_posted_where_nobody_serves_it_is_told_with_its_line(self):
        said = self.said(posts_where_nobody_serves)
        self.assertRegex(said, r"^method.py, line 8: rank 0 posted a message with tag 3 to rank 2, which does not serve it. "
                               r"Write w.serve\(3, f\) there, before its first yield. \(rank 2, step \d, at [\d.]+ s of simulated time\)$")
        self.assertRegex(self.said(serves_badly), r"line 2, in <lambda>: ZeroDivisionError: division by zero \(rank \d, step 1, at .* s of simulated time\)")

    def test_random_numbers_are_the_programs(self):
        first = self.both(draws).metrics["first_draw"]
        self.assertEqual(self.run_method(draws).metrics["first_draw"], first)
        self.assertNotEqual(self.run_method(draws, TIMED, {"/seed": 7}).metrics["first_draw"], first)
        self.assertIn("below() takes a whole number from 1", self.said(draws_below_nothing))

    def test_statistics_are_made_of_what_layers_see(self):
        self.assertGreater(self.both(sees_what_layers_see).metrics["sum_of_norms"], 0)
        self.assertIn("factors or taps", self.said(wants_both))

    def test_entries_of_a_vector_travel_by_themselves(self):
        self.both(by_pieces)
        self.assertIn("`entries` must be (begin, end) within the", self.said(beyond_the_end, SMALL))

    def test_values_are_merged_on_their_way(self):
        self.both(merges)
        self.both(merges_by_a_tree)
        self.assertIn("must bring data of every rank to every other rank", self.said(merges_for_some))

    def test_hooks_are_called_for_the_tensors_that_are_asked_for(self):
        run = self.both(hears_of_two_tensors)
        self.assertEqual((run.metrics["heard"], run.metrics["falls"]), (2, 1))

    def test_kfac_learns_what_the_shipped_one_does_bit_for_bit(self):
        theirs = simsgd.run(SMALL, {"/stragglers": [], "/stop/steps": STEPS, "/algorithm": {"name": "d_kfac"}})
        ours = self.run_method(kfac, SMALL)
        self.assertEqual(ours.curves["train_loss"], [(mine[0], other[1]) for mine, other in zip(ours.curves["train_loss"], theirs.curves["train_loss"])])
        for metric in ("factor_s", "inverse_s"):
            self.assertAlmostEqual(ours.metrics[metric] / theirs.metrics[metric], 1, places=9)
        self.run_method(kfac)
        self.assertIn("has no inverses to precondition with", self.said(preconditions_at_once, SMALL))

    def test_an_update_of_a_shard_takes_its_share_of_the_time(self):
        adam = {"/optimizer": {"name": "adamw", "learning_rate": 0.001}}  # which moves more than SGD
        whole, part = (self.run_method(only_updates, TIMED, adam, parts=parts).metrics["compute_s"] for parts in (1, 4))
        self.assertGreater(whole, 0)
        self.assertAlmostEqual(whole / part, 4, places=9)

    def test_a_method_says_what_it_sends_needs_and_leaves_out(self):
        run = self.run_method(speaks_for_itself)
        self.assertIn("the outer optimizer takes no time", " ".join(run.notes))
        plain = {each["part"]: each["bytes"] for each in simsgd.run(TIMED, {"/stop/steps": 3}).document["memory"]}
        parts = {each["part"]: each["bytes"] for each in run.document["memory"]}
        self.assertEqual(parts, {"shards": 0.75 * plain["parameters"], "activations": plain["activations"]})
        self.assertIn("The method sends factor, which its `sends` does not list. Add it there.", self.said(sends_what_it_does_not_say))
        self.assertIn("The method spends time on selection, which its `activities` does not list", self.said(selects_what_it_does_not_say))
        self.assertIn('Unknown traffic "letters". Choose gradient, model', self.said(sends_letters, error=simsgd.InputError))


class RealMachines(unittest.TestCase):
    SHORT = {**SMALL, "stop": {"steps": STEPS}}

    def test_kfac_and_what_is_merged_on_the_way_learn_the_same(self):
        for method in (kfac, merges_by_a_tree):
            real, simulated = losses(simsgd.method.source_of(method), "--set", f"/algorithm/function={method.__name__}", scenario=self.SHORT)
            self.assertEqual(len(real), STEPS)
            self.assertEqual(real, simulated, method.__name__)

    def test_gradients_that_are_given_up_are_on_real_machines_too(self):
        real, _ = losses(simsgd.method.source_of(gives_up), "--set", "/algorithm/function=gives_up", scenario=self.SHORT)
        self.assertEqual(len(real), STEPS)

    def test_wagma_runs_with_groups_that_wait_for_nobody(self):
        with open(os.path.join(SOURCES, "examples", "methods", "wagma.py"), encoding="utf-8") as file:
            real, simulated = losses(file.read(), "--set", "/algorithm/options/group_size=2", "--set", "/algorithm/options/period=3",
                                     "--set", "/algorithm/function=wagma", scenario={**self.SHORT, "optimizer": {"name": "sgd", "learning_rate": 0.05}})
        self.assertEqual(len(real), len(simulated))  # who is late there is not who is late here
        self.assertLess(real[-1], real[0])

"""Methods in Python: they give what the C++ ones give, bit for bit, and say where they are wrong."""

import glob
import json
import os
import re
import resource
import subprocess
import sys
import tempfile
import unittest

import numpy

import simsgd
from scenario import SMALL, SOURCES, TIMED, losses
from simsgd import program

STEPS = 12
LATENCY = 3  # used by a method below


def shipped(name, options, scenario, overrides):
    """The shipped method, and the one of examples/methods: documents."""
    file = os.path.join(SOURCES, "examples", "methods", name + ".py")
    ours = simsgd.run(scenario, {**overrides, "/algorithm": {"name": "python", "file": file, "options": options}})
    return simsgd.run(scenario, {**overrides, "/algorithm": {"name": name, **options}}), ours


class Shipped(unittest.TestCase):
    CASES = [("local_sgd", {"period": 3}), ("wagma", {"group_size": 4, "period": 5}), ("wagma", {"group_size": 2, "period": 3}),
             ("gtopk", {"density": 0.01}), ("gtopk", {"density": 0.05, "put_back": "exact"}), ("diloco", {"inner_steps": 5}),
             ("diloco", {"inner_steps": 6, "fragments": 3, "outer_rate": 1.0, "outer_momentum": 0.0})]

    def test_losses_and_times_are_the_same_bit_for_bit_with_stragglers_and_without_a_learner(self):
        for scenario in (SMALL, TIMED):
            for name, options in self.CASES:
                with self.subTest(name=name, options=options, learner=scenario["learner"] is not None):
                    theirs, ours = shipped(name, options, scenario, {"/cluster/workers": 8, "/stop/steps": 24})
                    self.assertEqual(ours.document["series"], theirs.document["series"])
                    self.assertEqual(ours.document["workers"], theirs.document["workers"])
                    memory = "memory_bytes_per_gpu"  # of gtopk the few entries that are sent are not declared
                    self.assertEqual({**ours.metrics, memory: 0}, {**theirs.metrics, memory: 0})

    def test_no_example_is_longer_than_40_lines(self):
        for name in ("local_sgd", "wagma", "gtopk", "diloco"):
            with open(os.path.join(SOURCES, "examples", "methods", name + ".py")) as file:
                self.assertLessEqual(len(file.readlines()), 40)

    def test_the_same_bytes_for_any_number_of_threads(self):
        runs = [simsgd.run(SMALL, algorithm=momentum_of_numpy, threads=threads).document for threads in (1, 2)]
        for document in runs:
            del document["context"]
        self.assertEqual(runs[0], runs[1])


def only_spends(w, options):
    while (yield w.next_step()):
        yield w.spend("compute", options["seconds"] * (1 + w.rank))


def applies_an_operation(w):
    while (yield w.next_step()):
        w.apply(w.gradient())


def never_steps(w):
    while True:
        yield w.gradient()


def ring(w):
    while (yield w.next_step()):
        sent = yield w.start(w.send((w.rank + 1) % w.size, 7, numbers=[w.rank, w.step]))
        values, numbers, source = yield w.receive((w.rank - 1) % w.size, 7)
        yield w.wait(sent)
        assert numbers == (source, w.step) and source == (w.rank - 1) % w.size
        if w.rank == 0:
            w.number("heard", numbers[0])


def busy(w):
    while (yield w.next_step()):
        for _ in range(25):
            yield w.spend("compute", 1e-3)
            sent = yield w.start(w.send((w.rank + 1) % w.size, 7, numbers=[1.0], bytes=8))
            yield w.receive((w.rank - 1) % w.size, 7)
            yield w.wait(sent)
            yield w.all_reduce(bytes=1000)


def posted(w):
    heard = []
    w.serve(3, lambda values, numbers, source: heard.append(source))
    while (yield w.next_step()):
        w.post((w.rank + 1) % w.size, 3, numbers=[1])
        yield w.barrier()
        yield w.wait(w.timer(LATENCY))
    w.number("heard", len(heard))


def hooked(w):
    layers = []
    while (yield w.next_step()):
        def before(layer, micro_batch, last):
            layers.append(layer)
            yield w.spend("compute", 1.0)  # a hook may wait
        yield w.gradient(before_forward=before)
    w.number("layers", len(layers) / (w.step or 1))
    w.number("first", layers[0])


def momentum_of_numpy(w, options):
    velocity = None
    while (yield w.next_step()):
        mean = yield w.all_reduce((yield w.gradient()), scale=1 / w.size)
        view = mean.numpy()
        assert not view.flags.writeable and not view.flags.owndata
        velocity = view.copy() if velocity is None else 0.5 * velocity + view
        w.apply(velocity)


def mean_by_hand(w):
    while (yield w.next_step()):
        own = yield w.gradient()
        everybody = yield w.all_gather(own, bytes=w.size * w.model_bytes)
        mean = yield w.all_reduce(own, scale=1 / w.size)
        total = numpy.zeros(len(own), numpy.float32)
        for each in everybody:
            total = total + each.numpy()
        assert numpy.allclose(total / w.size, mean.numpy(), rtol=1e-5, atol=1e-7), "the mean is not the mean"
        assert numpy.array_equal((own - own).numpy(), numpy.zeros(len(own))) and numpy.array_equal((2 * own).numpy(), 2 * own.numpy())
        yield w.apply(mean)


def sharded(w):
    """Every worker has a part of the model, which is gathered in the forward pass and dropped again."""
    w.keep_shard(w.rank, w.size)
    while (yield w.next_step()):
        whole = []

        def gather(layer, micro_batch, last):
            if layer == 0:
                whole[:] = yield w.all_gather(w.parameters(), traffic="model")
        gradient = yield w.gradient(before_forward=gather, parameters=lambda: numpy.concatenate([each.numpy() for each in whole]))
        yield w.apply((yield w.reduce_scatter(gradient, scale=1 / w.size)))


sharded.shards = True


def recovers(w, options):
    restarts = []
    w.recover_by(options["how"], lambda: restarts.append(w.now))
    while (yield w.next_step()):
        yield w.gradient()
    w.number("restarts", len(restarts))


def floods(w):
    heard = []
    assert w.hear(5, heard.append)
    while (yield w.next_step()):
        if w.rank == 2 and w.step == 1:
            w.flood(5, 17)
        yield w.wait(w.timer(LATENCY))
    if w.rank != 2:  # its own it does not hear
        w.number("heard", heard[0])


def neighbours_mean(w):
    right = [(rank + 1) % w.size for rank in range(w.size)]
    left = [(rank - 1) % w.size for rank in range(w.size)]

    def mean(rank, values):
        if not values[rank]:
            return None  # nothing is learned
        near = sorted({rank, (rank + 1) % w.size, (rank - 1) % w.size})
        assert all(values[i] for i in near), "what was sent here has come"
        return w.combine([1.0] * 3, [values[i] for i in near], 1 / 3)
    while (yield w.next_step()):
        w.apply((yield w.gradient()))
        before = w.parameters()
        w.set((yield w.exchange([right, left], before, mean)))
        everybody = yield w.all_gather(before)
        if everybody:
            near = sorted({w.rank, right[w.rank], left[w.rank]})
            expected = sum(everybody[i].numpy() for i in near) / 3
            assert numpy.allclose(w.parameters().numpy(), expected, rtol=1e-5, atol=1e-7)


def sends_twice(w):
    yield w.next_step()
    yield w.exchange([[1] * w.size], None, lambda rank, values: None)


def hashes(w):
    while (yield w.next_step()):
        w.number("hash", hash("a text") % 1000003)


def bad_handler(w):
    w.serve(1, lambda values, numbers, source: 1 / 0)
    while (yield w.next_step()):
        w.post((w.rank + 1) % w.size, 1)
        yield w.spend("compute", 1.0)


def bad_hook(w):
    def before(layer, micro_batch, last):
        raise ValueError("in a hook")
    while (yield w.next_step()):
        yield w.gradient(before_forward=before)


def wrong_value(w):
    yield w.next_step()
    yield 42


def forgets_to_yield(w):
    yield w.next_step()
    w.gradient()
    yield w.next_step()


def ends_without(w):
    yield w.next_step()
    w.gradient()


def raises_late(w):
    while (yield w.next_step()):
        yield w.spend("compute", 2.0)
        if w.rank == 1 and w.step == 3:
            {}["key"]


def spins(w):
    yield w.next_step()
    while True:
        pass


def disagrees(w):
    yield w.next_step()
    if w.rank:
        yield w.barrier()


def misspelled(w):
    yield w.next_step()
    yield w.gradent()


def unknown_traffic(w):
    yield w.next_step()
    yield w.all_reduce(traffic="letters")


def wants_options(w, options):
    while (yield w.next_step()):
        yield w.spend("compute", options["seconds"])


wants_options.options = {"seconds": {"default": 1.0, "minimum": 0.0, "maximum": 5.0}, "mode": {"default": "a", "choices": ["a", "b"]}}


class Roles(unittest.TestCase):
    def run_method(self, method, scenario=TIMED, **options):
        return simsgd.run(scenario, {"/stragglers": [], "/stop/steps": STEPS}, algorithm=method, options=options)

    def test_time_is_what_is_spent(self):
        # The slowest of 4 spends 4 x 0.25 s in each of 12 steps, and nobody waits.
        self.assertAlmostEqual(self.run_method(only_spends, seconds=0.25).metrics["simulated_time_s"], 12.0, places=9)

    def test_messages_carry_numbers_round_a_ring(self):
        self.assertEqual(self.run_method(ring).metrics["heard"], 3)

    def test_handlers_hear_what_is_posted_and_timers_end(self):
        run = self.run_method(posted)
        self.assertGreaterEqual(run.metrics["heard"], STEPS - 1)
        self.assertGreaterEqual(run.metrics["simulated_time_s"], 3.0 * STEPS)

    def test_hooks_are_called_for_every_layer_and_may_wait(self):
        run = self.run_method(hooked)
        layers = run.metrics["layers"]
        self.assertEqual(run.metrics["first"], 0)
        self.assertGreater(layers, 10)
        plain = simsgd.run(TIMED, {"/stragglers": [], "/stop/steps": STEPS, "/cluster/workers": 1}).metrics["simulated_time_s"]
        self.assertGreater(run.metrics["simulated_time_s"], layers * STEPS)
        self.assertLess(run.metrics["simulated_time_s"], layers * STEPS + plain * 1.5)

    def test_tensors_are_arrays_and_collectives_are_their_sums(self):
        self.run_method(mean_by_hand, SMALL)

    def test_numpy_takes_part_in_training(self):
        run = self.run_method(momentum_of_numpy, SMALL)
        losses = [value for _, value in run.curves["train_loss"]]
        self.assertLess(losses[-1], losses[0])

    def test_texts_have_the_same_hash_in_every_run(self):
        simsgd.program._close_all()
        first = self.run_method(hashes).metrics["hash"]
        simsgd.program._close_all()
        self.assertEqual(self.run_method(hashes).metrics["hash"], first)

    def test_a_method_runs_from_the_command_line_and_finds_its_function(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "mine.py")
            with open(path, "w") as file:
                file.write("def other(w):\n    yield\ndef mine(w):\n    while (yield w.next_step()):\n        yield w.gradient()\n")
            simsgd.command("run", "-", "--python", path, "--json", input=simsgd.verbs.to_json(TIMED))

    def test_real_machines_take_the_same_file_and_learn_the_same(self):
        for example in ("local_sgd", "diloco", "gtopk"):  # which do not depend on who is first
            with open(os.path.join(SOURCES, "examples", "methods", example + ".py"), encoding="utf-8") as file:
                words = ["--set", "/algorithm/options/density=0.01"] if example == "gtopk" else []
                real, simulated = losses(file.read(), "--set", f"/algorithm/function={example}", *words)
            self.assertEqual(len(real), STEPS)
            self.assertEqual(real, simulated, example)

    def test_an_operation_takes_6_microseconds_at_200_workers(self):
        def processor_s(steps):
            program._close_all()
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            simsgd.run(TIMED, {"/cluster/workers": 200, "/stop/steps": steps, "/stragglers": []}, algorithm=busy, threads=1, draws=0)
            program._close_all()
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        operations = 200 * 5 * 25
        for _ in range(3):  # what other processes do to caches only adds
            operation_s = (processor_s(11) - processor_s(1)) / 10 / operations
            print(f"{1e6 * operation_s:.2f} us an operation", file=sys.stderr)
            if operation_s < 6e-6:
                return
        self.fail("an operation takes longer")

    def test_shards_are_the_model_and_learn_as_whole_replicas_do(self):
        ours = self.run_method(sharded, {**SMALL, "workload": {**SMALL["workload"], "micro_batches": 1}})
        theirs = simsgd.run(SMALL, {"/stragglers": [], "/stop/steps": STEPS, "/algorithm": {"name": "allreduce_sgd"}})
        for (_, a), (_, b) in zip(ours.curves["train_loss"], theirs.curves["train_loss"]):
            self.assertAlmostEqual(a, b, places=5)
        for (_, a), (_, b) in zip(ours.curves["test_accuracy"], theirs.curves["test_accuracy"]):
            self.assertAlmostEqual(a, b, places=3)

    def test_crashes_are_recovered_from_as_the_method_says(self):
        crash = {"/failures": {"crashes": [{"worker": 0, "time": "1 s"}], "restart": "5 s"}}
        for how in ("recompute", "rejoin"):
            run = simsgd.run(TIMED, {"/stragglers": [], "/stop/steps": 40, **crash}, algorithm=recovers, options={"how": how})
            self.assertEqual((run.metrics["restarts"], run.metrics["crashes"]), (1, 1))
        with self.assertRaisesRegex(simsgd.RunFailed, 'Unknown recovery "pray". Use recompute or rejoin'):
            simsgd.run(TIMED, algorithm=recovers, options={"how": "pray"})

    def test_floods_reach_everybody(self):
        self.assertEqual(self.run_method(floods).metrics["heard"], 17)

    def test_messages_of_ones_own_are_exchanged_with_neighbours(self):
        self.run_method(neighbours_mean, SMALL)
        run = self.run_method(neighbours_mean)
        self.assertGreater(run.metrics["simulated_time_s"], 0)
        with self.assertRaisesRegex(simsgd.RunFailed, "lists the receiver of each of the 4 ranks"):
            self.run_method(sends_twice)

    def test_every_python_of_this_machine_gives_the_same_bytes(self):
        found = sorted({os.path.realpath(path) for pattern in ("/usr/lib/*/libpython3.*.so.1.0", "/usr/local/lib/libpython3.*.so.1.0",
                                                               os.path.expanduser("~/.pyenv/versions/*/lib/libpython3.*.so.1.0"))
                        for path in glob.glob(pattern) if 9 <= int(re.search(r"libpython3\.(\d+)", path)[1]) <= 13})
        said = {}
        for library in found:
            for example in ("wagma", "diloco"):  # without numpy
                done = subprocess.run([os.environ["SIMSGD"], "run", "-", "--json", "--python", os.path.join(SOURCES, "examples", "methods", example + ".py")],
                                      input=simsgd.verbs.to_json(SMALL), env={**os.environ, "SIMSGD_LIBPYTHON": library},
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stderr)
                document = json.loads(done.stdout)
                del document["context"]
                self.assertEqual(said.setdefault(example, document), document, library)
        print("the same with", ", ".join(os.path.basename(each) for each in found), file=sys.stderr)

    def test_thirty_thousand_workers(self):
        run = simsgd.run(TIMED, {"/cluster/workers": 30000, "/stop/steps": 2, "/stragglers": []}, algorithm=only_spends,
                         options={"seconds": 1e-6})
        self.assertAlmostEqual(run.metrics["simulated_time_s"], 2 * 30000e-6, places=9)


class Wrong(unittest.TestCase):
    def said(self, method, error=simsgd.RunFailed, **options):
        with self.assertRaises(error) as caught:
            simsgd.run(TIMED, {"/stragglers": [], "/stop/steps": STEPS}, algorithm=method, options=options)
        return str(caught.exception)

    def test_an_exception_names_file_line_rank_step_and_time(self):
        self.assertEqual(self.said(raises_late),
                         "method.py, line 5, in raises_late: KeyError: 'key' (rank 1, step 3, at 6 s of simulated time)")

    def test_nonsense_is_told_what_was_expected(self):
        said = self.said(wrong_value)
        self.assertIn("method.py, line 3, in wrong_value: yielded 42, which is not an operation. Yield what w.next_step()", said)
        self.assertIn("rank 0", said)

    def test_an_operation_that_is_not_yielded_is_named(self):
        self.assertIn("gradient was asked for and not yielded before next_step. Write `yield w.gradient(...)`.", self.said(forgets_to_yield))
        self.assertIn("ended with gradient asked for and not yielded", self.said(ends_without))

    def test_handlers_and_hooks_are_placed_too(self):
        self.assertIn("line 2, in <lambda>: ZeroDivisionError", self.said(bad_handler))
        self.assertIn("line 3, in before: ValueError: in a hook", self.said(bad_hook))

    def test_names_that_are_none_are_told_the_valid_ones(self):
        self.assertIn('Unknown traffic "letters". Choose gradient, model, factor, inverse or control.', self.said(unknown_traffic))

    def test_a_worker_knows_what_was_meant(self):
        self.assertIn("line 3, in misspelled: AttributeError: a worker has no gradent. Did you mean gradient?", self.said(misspelled))

    def test_ranks_that_disagree_are_a_deadlock_with_a_sentence(self):
        self.assertIn("Deadlock", self.said(disagrees))

    def test_a_method_that_never_asks_for_a_step_is_told_how(self):
        def endless(w, options):
            while True:
                w.apply((yield w.gradient()))
        learns = {"name": "endless", "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4}, "workload": {"use": "workloads/resnet20.json"},
                  "learner": {"model": {"name": "softmax_regression"}, "data": {"name": "gaussian_mixture"}, "batch": 16}, "stop": {"steps": STEPS},
                  "algorithm": {"name": "allreduce_sgd"}}
        with self.assertRaisesRegex(simsgd.RunFailed, "took a gradient after its last step"):
            simsgd.run(learns, algorithm=endless)

    def test_a_method_that_never_yields_is_ended(self):
        with self.assertRaisesRegex(simsgd.RunFailed, "TimeoutError: the method has computed for longer than its yield_limit"):
            simsgd.run(TIMED, {"/algorithm": {**simsgd.verbs.algorithm_section(spins, None), "yield_limit": 0.5}})

    def test_options_are_checked_with_pointer_and_remedy(self):
        for options, pointer, remedy in [({"secnds": 1.0}, "/algorithm/options/secnds", "Did you mean seconds?"),
                                         ({"seconds": 9.0}, "/algorithm/options/seconds", "Write at most 5.0"),
                                         ({"seconds": "fast"}, "/algorithm/options/seconds", "Write a number"),
                                         ({"mode": "c"}, "/algorithm/options/mode", "Use 'a', 'b'")]:
            with self.subTest(options=options), self.assertRaises(simsgd.InputError) as caught:
                simsgd.run(TIMED, algorithm=wants_options, options=options)
            self.assertEqual(caught.exception.pointer, pointer)
            self.assertIn(remedy, caught.exception.remedy)

    def test_a_forgotten_yield_and_a_step_without_end_are_told(self):
        self.assertIn("an operation was used in place of its result. Write yield before it", self.said(applies_an_operation))
        self.assertIn("The method computed 4096 times in one step. Ask for each step", self.said(never_steps))

    def test_a_file_is_looked_for_beside_the_scenario(self):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in (("s.json", json.dumps({**TIMED, "algorithm": {"name": "python", "file": "mine.py"}})),
                               ("mine.py", "def mine(w):\n    while (yield w.next_step()):\n        yield w.gradient()\n")):
                with open(os.path.join(folder, name), "w") as file:
                    file.write(text)
            self.assertIn("throughput_samples_per_s", simsgd.run(os.path.join(folder, "s.json")).metrics)

    def test_a_source_that_does_not_run_is_bad_input(self):
        for source, why in [("/home/me/mine.py", "is a path, and .source. takes the text of a method"), ("def f(w:\n", "SyntaxError"), ("import nowhere_at_all\n", "ModuleNotFoundError"), ("x = 1\n", "has 0 generator functions")]:
            with self.subTest(source=source), self.assertRaisesRegex(simsgd.InputError, why):
                simsgd.run(TIMED, {"/algorithm": {"name": "python", "source": source}})

    def test_what_a_function_takes_from_around_it_must_be_something_that_can_be_written(self):
        around = object()

        def closure(w):
            yield around
        with self.assertRaisesRegex(simsgd.InputError, "uses around of the function around it"):
            simsgd.run(TIMED, algorithm=closure)
        for method in (lambda w: None, Wrong, self.test_what_a_function_takes_from_around_it_must_be_something_that_can_be_written):
            with self.assertRaisesRegex(simsgd.InputError, "A method is a function with a name, written with def, and not <"):
                simsgd.run(TIMED, algorithm=method)

    def test_without_python_the_rest_works_and_this_says_so(self):
        environment = {**os.environ, "SIMSGD_LIBPYTHON": "/nowhere/libpython.so"}
        text = simsgd.verbs.to_json(TIMED)
        plain = subprocess.run([os.environ["SIMSGD"], "run", "-", "--json"], input=text, env=environment, capture_output=True, text=True)
        self.assertEqual(plain.returncode, 0)
        asked = subprocess.run([os.environ["SIMSGD"], "run", "-", "--set", '/algorithm={"name": "python", "source": "x"}'], input=text,
                               env=environment, capture_output=True, text=True)
        self.assertEqual(asked.returncode, 2)
        self.assertIn("needs Python's library, version 3.9 to 3.13", asked.stderr)

"""The package: what it gives, and what it says where something is wrong."""

import ast
import base64
import copy
import csv
import glob
import html
import io
import json
import os
import re
import signal
import stat
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import numpy

import simsgd
from scenario import SMALL, SOURCES, TIMED
from simsgd import program

PROGRAM = os.environ["SIMSGD"]


def by_hand(*words, text=""):
    """What the program itself prints."""
    return subprocess.run([PROGRAM, *words], input=text, capture_output=True, text=True, check=True).stdout


def long_run():
    return simsgd.run(TIMED, {"/cluster/workers": 64, "/stop/steps": 10_000_000})


class Runs(unittest.TestCase):
    def test_a_run_is_the_programs_document_to_the_byte_but_for_its_context(self):
        ours = simsgd.run(SMALL).document
        theirs = json.loads(by_hand("run", "-", "--json", text=json.dumps(SMALL)))
        del ours["context"], theirs["context"]
        self.assertEqual(json.dumps(ours), json.dumps(theirs))

    def test_curves_are_pairs_of_time_and_value(self):
        run = simsgd.run(SMALL)
        self.assertEqual([len(run.curves[name]) for name in ("train_loss", "test_accuracy")],
                         [12, len(run.document["series"]["test"])])
        self.assertEqual(run.curves["train_loss"][-1][0], run.document["series"]["train"][-1]["time_s"])

    def test_a_notebook_gets_the_programs_table_and_charts_of_a_run(self):
        run = simsgd.run(SMALL)
        bundle = run._repr_mimebundle_()
        self.assertIn("throughput_samples_per_s", run._repr_html_())
        self.assertEqual(run._repr_html_(), bundle["text/html"])
        self.assertTrue(run.notes)
        self.assertIn(html.escape(run.notes[0]), bundle["text/html"])
        parts = bundle["application/vnd.vegalite.v5+json"]["vconcat"]
        self.assertEqual([part["title"] for part in parts], ["Where the time of a step goes", "Training loss", "Test accuracy"])
        losses = [row["value"] for row in parts[1]["data"]["values"]]  # straight lines between the run's
        for loss in (run.curves["train_loss"][0][1], run.curves["train_loss"][-1][1]):
            self.assertIn(loss, losses)
        self.assertNotIn("vconcat", simsgd.run(TIMED)._repr_mimebundle_()["application/vnd.vegalite.v5+json"])  # nothing is learned
        if "image/png" in bundle:
            self.assertTrue(base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG"))
        self.assertIn("## small", run.ask("report", "-", "--format", "md"))

    def test_numbers_of_numpy_are_numbers(self):
        run = simsgd.run({**TIMED, "stop": {"steps": numpy.int64(5)}}, {"/workload/batch": numpy.float64(64)})
        self.assertEqual((run.scenario["stop"]["steps"], run.scenario["workload"]["batch"]), (5, 64))

    def test_what_json_has_no_word_for_is_refused_before_the_program_sees_it(self):
        with self.assertRaisesRegex(TypeError, "use numbers, texts, lists and dicts"):
            simsgd.run({**TIMED, "stop": object()})

    def test_all_errors_come_at_once_with_file_pointer_and_remedy(self):
        with self.assertRaises(simsgd.InputError) as caught:
            simsgd.run({**TIMED, "stopp": 1}, {"/cluster/worker": 8})
        problems = {each.pointer: each for each in caught.exception.problems}
        self.assertEqual(set(problems), {"/stopp", "/cluster/worker"})
        self.assertEqual(problems["/stopp"].file, "<stdin>")
        self.assertIn('Did you mean "stop"?', problems["/stopp"].remedy)
        self.assertIn('Did you mean "workers"?', problems["/cluster/worker"].remedy)

    def test_what_is_no_scenario_no_axis_and_no_place_for_options_is_said(self):
        for wrong, said in ((lambda: simsgd.run([TIMED]), "a file's name or a dict, and not"), (lambda: simsgd.Study(None).run(), "and not None"),
                            (lambda: simsgd.Study(TIMED).over("/cluster/workers", 4), "are a list, or a dict of labels and values, and not 4"),
                            (lambda: simsgd.run(TIMED, options={"period": 3}), "no algorithm to give them to")):
            with self.assertRaisesRegex(simsgd.InputError, said):
                wrong()

    def test_a_missing_file_and_wrong_usage_are_input_errors(self):
        with self.assertRaisesRegex(simsgd.InputError, "nowhere.json"):
            simsgd.run("nowhere.json")
        with self.assertRaisesRegex(simsgd.InputError, "frobnicate"):
            simsgd.command("frobnicate")

    def test_a_relative_file_is_looked_for_where_python_is_now(self):
        before = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                with open("here.json", "w") as file:
                    json.dump(TIMED, file)
                self.assertEqual(simsgd.run("here.json").scenario["name"], "small")
            finally:
                os.chdir(before)

    def test_lists_and_benches_are_values(self):
        self.assertIn("wagma", [each["name"] for each in simsgd.list("algorithms")])
        self.assertTrue(simsgd.bench("all_reduce", workers=4, b=8, e=1024, f=2))

    def test_explain_answers_with_a_sentence_and_the_step(self):
        answer = simsgd.explain(parameters=25e6, step="0.1s", gpus=4, network="10gbe")
        self.assertIn("4 GPUs", answer["answer"])
        with self.assertRaises(simsgd.InputError):
            simsgd.explain(parameters=0, step="0.1s", gpus=4, network="10gbe")


class Studies(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "study.db")
        self.study = simsgd.Study(TIMED).over("/cluster/workers", [2, 4]).over("/algorithm/name", ["local_sgd", "allreduce_sgd"])

    def tearDown(self):
        self.folder.cleanup()

    def test_every_combination_is_a_row(self):
        rows = self.study.seeds(2).run(self.file).rows()
        self.assertEqual({(row["cluster/workers"], row["algorithm"], row["seed"]) for row in rows},
                         {(w, a, s) for w in "24" for a in ("local_sgd", "allreduce_sgd") for s in "12"})

    def test_a_study_resumes_and_a_study_is_not_changed_by_more_axes(self):
        seen = []
        self.study.run(self.file, progress=lambda done, of: seen.append((done, of)))
        self.assertEqual(seen[-1], (4, 4))
        more = self.study.seeds(2)
        seen.clear()
        more.run(self.file, progress=lambda done, of: seen.append((done, of)))
        self.assertEqual(len(seen), 4)  # the four of the second seed
        self.assertNotIn("/seeds", self.study.overrides)

    def test_a_point_that_fails_is_said_and_the_others_are_kept(self):
        study = simsgd.Study(TIMED).over("/algorithm/name", ["local_sgd", failing])
        with self.assertRaises(simsgd.RunFailed) as caught:
            study.run(self.file)
        self.assertEqual(caught.exception.exit_code, 3)
        rows = study.run(self.file, allow_failed=True).rows()
        self.assertEqual(sorted((row["algorithm"], row["status"]) for row in rows), [("failing", "failed"), ("local_sgd", "ok")])
        self.assertIn("on purpose", [row["error"] for row in rows if row["algorithm"] == "failing"][0])

    def test_methods_of_one_name_are_told_apart_by_their_text_and_options(self):
        text = "def f(w, options):\n    while (yield w.next_step()):\n        yield w.spend('compute', {})\n"
        methods = [{"name": "python", "function": "f", "source": text.format(seconds)} for seconds in (0.25, 0.5)]
        rows = simsgd.Study(TIMED).over("/algorithm", [*methods, failing]).run(self.file, allow_failed=True).rows()
        self.assertEqual([row["algorithm"] for row in rows if row["status"] == "failed"], ["failing"])
        labels = {row["algorithm"] for row in rows if row["status"] == "ok"}
        self.assertEqual(len(labels), 2)
        for label in labels:
            self.assertRegex(label, r"^f \(source [0-9a-f]{8}\)$")
        rows = simsgd.Study(TIMED).over("/algorithm", [{**methods[0], "options": {"a": a}} for a in (1, 2)]).run().rows()
        self.assertEqual({row["algorithm"] for row in rows}, {"f (options (a 1))", "f (options (a 2))"})

    def test_a_dict_labels_an_axis(self):
        study = simsgd.Study(TIMED).over("/stragglers", {"none": [], "late": TIMED["stragglers"]}, name="who")
        rows = study.over("/algorithm/name", {"often": {"name": "local_sgd", "period": 2}, "always": "allreduce_sgd"}).run(self.file).rows()
        self.assertEqual({(row["who"], row["algorithm"]) for row in rows}, {(w, a) for w in ("none", "late") for a in ("often", "always")})

    def test_charts_are_those_of_the_report_with_their_numbers(self):
        results = self.study.seeds(2).run(self.file)
        chart = results.chart("throughput")
        self.assertEqual(chart.title, "Throughput")
        values = chart.spec["data"]["values"]
        means = [float(row["value"]) for row in csv.DictReader(io.StringIO(
            results.table("table", "--metric", "throughput_samples_per_s", "--format", "csv")))]
        self.assertEqual(len(values), 2)  # both methods, of the first number of workers
        for each in values:
            self.assertTrue(any(abs(each["value"] / mean - 1) < 1e-9 for mean in means), (means, values))
        bundle = chart._repr_mimebundle_()
        self.assertEqual(bundle["application/vnd.vegalite.v6+json"], chart.spec)
        if "image/png" in bundle:
            self.assertTrue(base64.b64decode(bundle["image/png"]).startswith(b"\x89PNG"))

        def without(name):
            """The bundle where that is not to be found."""
            program._close_all()
            self.addCleanup(os.environ.__setitem__, name, os.environ.get(name, ""))
            self.addCleanup(program._close_all)
            os.environ[name] = "/nowhere"
            return chart._repr_mimebundle_()
        if "image/png" in bundle:
            self.assertTrue(without("PATH")["image/svg+xml"].startswith("<svg"))  # rsvg-convert
        page = without("SIMSGD_WEB")["text/html"]  # Node
        self.assertIn("<caption>Throughput</caption>", page)
        self.assertEqual(page.count("<td style=\"text-align: left\">local_sgd</td>"), 1)
        of_a_temporary_file = self.study.run().chart("throughput")  # the results themselves are not kept by anybody else
        self.assertTrue(of_a_temporary_file._repr_mimebundle_()["application/vnd.vegalite.v6+json"])
        with self.assertRaisesRegex(simsgd.InputError, "has no chart loss. It has"):
            results.chart("loss")
        with self.assertRaisesRegex(simsgd.InputError, "througput"):
            results.chart("througput")

    def test_rows_and_documents_are_exported(self):
        results = self.study.run(self.file)
        for end, begins, lines in ((".csv", "point,", 5), (".jsonl", "{", None)):
            path = os.path.join(self.folder.name, "rows" + end)
            results.export(path)
            with open(path) as file:
                text = file.read()
            self.assertIn(begins, text[:400], end)
            if lines:
                self.assertEqual(len(text.strip().split("\n")), lines, text[:300])
        for line in text.strip().split("\n"):
            json.loads(line)
        with self.assertRaisesRegex(simsgd.InputError, "has no known ending. Use .csv, .jsonl"):
            results.export("rows.xls")
        for form, begins in (("latex", "\\begin{tabular}"), ("md", "|")):
            self.assertIn(begins, results.table("table", "--metric", "throughput_samples_per_s", "--format", form))

    def test_the_documented_line_of_pandas_reads_the_file(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        import sqlite3
        connection = sqlite3.connect(self.study.run(self.file).file)
        self.assertEqual(len(pandas.read_sql("SELECT * FROM runs", connection)), 4)
        connection.close()

    def test_a_study_of_numbers_of_numpy_is_a_study(self):
        study = {**TIMED, "axes": [{"pointer": "/cluster/workers", "values": numpy.array([2, 4])}], "seeds": numpy.int64(2)}
        rows = simsgd.sweep(study, self.file).rows()
        self.assertEqual(sorted(row["cluster/workers"] for row in rows), ["2", "2", "4", "4"])
        more = simsgd.Study(TIMED).over("/stop/steps", numpy.array([3, 5])).over("/workload/batch", [numpy.float64(64)]).run()
        self.assertEqual(len(more.rows()), 2)

    def test_a_cluster_is_fitted_to_a_table_by_a_dict(self):
        before = os.getcwd()
        os.chdir(self.folder.name)
        self.addCleanup(os.chdir, before)
        # T = 2 (p - 1) (alpha + n / p / B) of a ring: alpha 50 us, B 1e8 B/s.
        with open("ring.csv", "w") as file:
            file.write("p,n,s\n")
            for p in (2, 4):
                for n in (1e4, 1e5, 1e6, 1e7):
                    file.write(f"{p},{n},{2 * (p - 1) * (5e-5 + n / p / 1e8)}\n")
        report = simsgd.calibrate({
            "name": "ring",
            "scenario": {"cluster": {"use": "clusters/ethernet-1g.json", "gpus_per_node": 1, "nic": {"goodput": 1},
                                     "host": {"launch": 0, "reduce": 0, "copy": 0, "tensor": 0, "pack": 0, "scale": 0, "staged": False}},
                         "network": {"all_reduce": "ring"}},
            "data": [{"files": ["ring.csv"], "set": {"operation": "all_reduce"},
                      "map": {"workers": "p", "bytes": {"from": "n", "unit": "B"}, "values": [{"quantity": "time_s", "from": "s", "unit": "s"}]}}],
            "predict": [{"as": "collective"}],
            "models": [{"name": "ring", "parameters": [
                {"name": "B", "pointers": ["/cluster/nic/bandwidth"], "low": 1e7, "high": 1e9, "source": "by hand"},
                {"name": "alpha", "pointers": ["/cluster/nic/latency"], "low": 1e-6, "high": 1e-3, "source": "by hand"}]}],
            "fit": {"leave_out": "octave"}}, output="fitted.json")
        fitted = {each["pointer"]: each["value"] for each in report["parameters"]}
        self.assertAlmostEqual(fitted["/cluster/nic/bandwidth"] / 1e8, 1, places=2)
        self.assertAlmostEqual(fitted["/cluster/nic/latency"] / 5e-5, 1, places=2)
        self.assertGreater(simsgd.run(TIMED, {"/cluster": {"use": "fitted.json", "workers": 4}, "/stragglers": []}).metrics["simulated_time_s"], 0)

    def test_advice_of_a_dict_ranks_methods(self):
        advice = simsgd.advise({**TIMED, "stop": {"steps": 40}}, target="throughput", budget=8, algorithms="local_sgd,allreduce_sgd")
        self.assertTrue(advice["ranked"][0]["label"].startswith("algorithm="))

    def test_frames_ask_the_program(self):
        try:
            import pandas
        except ImportError:
            self.skipTest("no pandas")
        results = self.study.seeds(3).run(self.file)
        frame = results.frame()
        self.assertEqual(len(frame), 12)
        theirs = by_hand("results", "winners", self.file, "--metric", "throughput_samples_per_s", "--format", "csv")
        pandas.testing.assert_frame_equal(frame.simsgd.winners("throughput_samples_per_s"), pandas.read_csv(io.StringIO(theirs)))
        means = frame.simsgd.table("throughput_samples_per_s", rows=["workers"], columns=["algorithm"])
        self.assertEqual(len(means), 4)  # of two numbers of workers and two methods
        pandas.testing.assert_frame_equal(frame.simsgd.table("throughput_samples_per_s", rows="workers", columns="algorithm"), means)
        self.assertEqual(len(frame.simsgd.table("throughput_samples_per_s", rows="workers,algorithm", where="algorithm=local_sgd")), 2)
        with self.assertRaisesRegex(simsgd.InputError, "througput"):
            frame.simsgd.winners("througput")
        copied = copy.deepcopy(frame)  # as pandas 2 copies what a frame says of itself
        pandas.testing.assert_frame_equal(copied.simsgd.winners("throughput_samples_per_s"), pandas.read_csv(io.StringIO(theirs)))
        with self.assertRaisesRegex(AttributeError, "StudyResults"):
            pandas.DataFrame({"a": [1]}).simsgd


def failing(w):
    yield w.next_step()
    raise ValueError("on purpose")


class Documented(unittest.TestCase):
    def test_a_method_of_ones_own_against_three_shipped_ones_takes_25_lines(self):
        with open(os.path.join(SOURCES, "docs", "python.md"), encoding="utf-8") as file:
            script = file.read().split("This script compares")[1].split("```python\n")[1].split("```")[0]
        self.assertLessEqual(len([line for line in script.splitlines() if line.strip()]), 25)
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "mine.py"), "w", encoding="utf-8") as file:
                file.write(script)
            done = subprocess.run([sys.executable, "mine.py"], cwd=folder, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        for said in ("Student's 95 % interval over 5 seeds", "allreduce_sgd", "wagma", "local_sgd", "slow_momentum"):
            self.assertIn(said, done.stdout)
        self.assertEqual(len(re.findall(r"\d ± \d", done.stdout)), 8 + 6, done.stdout)  # of 4 methods and 2 delays; differences of 3 to mine

    def test_the_blocks_on_runs_studies_and_the_store_run_from_top_to_bottom(self):
        def page(name):
            with open(os.path.join(SOURCES, "docs", name), encoding="utf-8") as file:
                return file.read()
        script = "".join(page("python.md").split("\n## A method of your own")[0].split("```python\n")[i].split("```")[0] for i in (1, 2, 3))
        for what, instead in (('"scenarios/quickstart.json"', "base"), ("[4, 16, 64]", "[2, 4]"), ('{"/cluster/workers": 64}', '{"/cluster/workers": 2}')):
            self.assertIn(what, script)
            script = script.replace(what, instead)
        try:
            import pandas  # noqa: F401
        except ImportError:
            script = "\n".join(line for line in script.splitlines() if "frame" not in line)
        query = page("store.md").split('sqlite3 F.db "')[1].split('"\n')[0]
        base = {**SMALL, "target": {"metric": "train_loss", "value": 10, "window": 1}}
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "shown.py"), "w", encoding="utf-8") as file:
                file.write(f"base = {base!r}\n{script}\nimport sqlite3\nassert len(sqlite3.connect('workers.db').execute({query!r}).fetchall()) == 20\n")
            done = subprocess.run([sys.executable, "shown.py"], cwd=folder, capture_output=True, text=True)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertGreaterEqual(set(os.listdir(folder)), {"logs", "rows.csv", "workers.db"})

    def test_the_package_is_small_and_needs_nothing(self):
        """Lines, as `wc -l` counts them; the hook for PyTorch counts by itself."""
        lines, imported = {}, set()
        for name, text in sources_of_the_package():
            lines[name] = text.count("\n")
            imported |= modules_of(text) if name != "recording.py" else set()
        hook = lines.pop("recording.py")
        print("lines:", sum(lines.values()), "and", hook, "of the hook for PyTorch", file=sys.stderr)
        self.assertLessEqual(sum(lines.values()), 600)
        self.assertLessEqual(imported - set(sys.stdlib_module_names), {"pandas", "IPython"})  # where they are asked for

    def test_all_of_it_is_python_3_9(self):
        """Its syntax, and no annotation that is evaluated has a union with `|`, which is of 3.10."""
        paths = ["python/make_wheel.py", "algorithms/python/door.py", "algorithms/python/methods.py", *[os.path.join("examples", "methods", name + ".py") for name in ("local_sgd", "wagma", "gtopk", "diloco")]]
        texts = [*sources_of_the_package()]
        for path in paths:
            with open(os.path.join(SOURCES, path), encoding="utf-8") as file:
                texts.append((path, file.read()))
        for name, text in texts:
            with self.subTest(name):
                for node in ast.walk(ast.parse(text, feature_version=(3, 9))):
                    for each in (getattr(node, "annotation", None), getattr(node, "returns", None)):
                        unions = [inner for inner in ast.walk(each) if isinstance(inner, ast.BinOp)] if each else []
                        self.assertFalse(unions, f"line {node.lineno}" if each else "")
                    self.assertFalse(isinstance(node, ast.ImportFrom) and {each.name for each in node.names} & NEWER_NAMES)
                    self.assertFalse(isinstance(node, ast.Attribute) and node.attr in NEWER_NAMES, getattr(node, "attr", ""))
                    called = getattr(getattr(node, "func", None), "id", "") if isinstance(node, ast.Call) else ""
                    self.assertFalse(called == "zip" and any(each.arg == "strict" for each in node.keywords))


NEWER_NAMES = {  # than 3.9, of what such programs are tempted to use
    "pairwise", "batched", "root_dir", "bit_count", "stdlib_module_names", "aclosing", "chdir", "ExceptionGroup", "add_note",
    "Self", "TypeAlias", "ParamSpec", "Concatenate", "TypeGuard", "NotRequired", "Required", "LiteralString", "assert_never", "Never", "override",
    "StrEnum", "tomllib", "UTC", "file_digest", "KW_ONLY", "get_annotations", "aiter", "anext", "EncodingWarning"}


def sources_of_the_package():
    """Names and texts."""
    folder = os.path.join(SOURCES, "python", "simsgd")
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py"):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                yield name, file.read()


def modules_of(text):
    """That it imports."""
    modules = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            modules |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            modules.add(node.module.split(".")[0])
    return modules


class Programs(unittest.TestCase):
    """Programs that are missing, of another version, or ended from outside."""

    def with_program(self, path):
        program._close_all()
        os.environ["SIMSGD"] = path
        self.addCleanup(os.environ.__setitem__, "SIMSGD", PROGRAM)
        with self.assertRaises(simsgd.ProgramError) as caught:
            simsgd.run(TIMED)
        return str(caught.exception)

    def script(self, text):
        folder = tempfile.mkdtemp()
        path = os.path.join(folder, "simsgd")
        with open(path, "w") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
        return path

    def test_missing(self):
        self.assertIn("is not a program", self.with_program("/nowhere/simsgd"))

    def test_of_another_version(self):
        self.assertIn("is version 9.9.9, and this package is " + simsgd.__version__,
                      self.with_program(self.script("#!/bin/sh\necho '{\"simsgd\": \"9.9.9\"}'\ncat\n")))

    def test_that_knows_no_worker(self):
        self.assertIn("no verb worker", self.with_program(self.script("#!/bin/sh\necho no verb worker >&2; exit 2\n")))

    def test_killed_while_it_runs_is_a_sentence_and_the_next_run_works(self):
        simsgd.run(TIMED)
        worker = program._workers[-1].process
        timer = threading.Timer(0.5, os.kill, (worker.pid, signal.SIGKILL))
        timer.start()
        with self.assertRaisesRegex(simsgd.ProgramError, "was ended by signal 9 while it ran"):
            long_run()
        simsgd.run(TIMED)

    def test_killed_while_idle_is_not_even_noticed(self):
        simsgd.run(TIMED)
        for worker in [*program._workers]:
            worker.process.kill()
            worker.process.wait()
        simsgd.run(TIMED)

    def test_ctrl_c_ends_the_run_and_the_next_one_works(self):
        simsgd.run(TIMED)
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        begin = time.monotonic()
        with self.assertRaises(KeyboardInterrupt):
            long_run()
        self.assertLess(time.monotonic() - begin, 30)
        simsgd.run(TIMED)

    def test_threads_run_side_by_side_and_get_their_own_answers(self):
        got = {}

        def one(workers):
            got[workers] = simsgd.run(TIMED, {"/cluster/workers": workers}).scenario["cluster"]["workers"]
        threads = [threading.Thread(target=one, args=(workers,)) for workers in range(2, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(got, {workers: workers for workers in range(2, 8)})

    def test_a_forked_process_has_a_worker_of_its_own(self):
        simsgd.run(TIMED)
        before = {worker.process.pid for worker in program._workers}
        child = os.fork()
        if child == 0:
            ok = not program._workers and simsgd.run(TIMED).scenario["name"] == "small"
            mine = {worker.process.pid for worker in program._workers}
            os._exit(0 if ok and not mine & before else 1)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        simsgd.run(TIMED)
        self.assertTrue(before & {worker.process.pid for worker in program._workers})

    def test_the_package_is_imported_in_a_fifth_of_the_processor_time_that_python_has_for_it(self):
        script = "import time; t = time.process_time(); import simsgd; print(time.process_time() - t); import sys; assert 'pandas' not in sys.modules and 'numpy' not in sys.modules"
        self.assertLess(float(subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout), 0.2)

    def test_every_python_of_this_machine_drives_the_program_and_runs_methods(self):
        found = [path for path in [*glob.glob(os.path.expanduser("~/.pyenv/versions/3.*/bin/python")), "/usr/bin/python3"]
                 if 9 <= int(subprocess.run([path, "-c", "import sys; print(sys.version_info[1])"], capture_output=True, text=True).stdout) <= 13]
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "mine.py")
            with open(script, "w") as file:
                file.write("import scenario, simsgd\ndef mine(w):\n    while (yield w.next_step()):\n        yield w.spend('compute', 0.25)\n"
                           "print(simsgd.run(scenario.TIMED, {'/stragglers': []}, algorithm=mine).metrics['simulated_time_s'])\n")
            for path in found:
                paths = os.pathsep.join([os.path.join(SOURCES, "python"), os.path.join(SOURCES, "tests", "python")])
                done = subprocess.run([path, script], env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
                self.assertEqual((done.stdout, done.stderr), ("3.0\n", ""), path)

    def test_one_version_everywhere(self):
        def said(path, pattern):
            with open(os.path.join(SOURCES, path)) as file:
                return re.search(pattern, file.read(), flags=re.M)[1]

        version = said("CMakeLists.txt", r"^project\(simsgd VERSION ([\d.]+) ")
        self.assertRegex(by_hand("--version"), rf"^simsgd {re.escape(version)} \((no commit|[0-9a-f]{{7,40}}(-dirty)?), \w+\)\n$")
        self.assertEqual(simsgd.__version__, version)
        self.assertEqual(said("CITATION.cff", r"^version: (\S+)$"), version)
        self.assertEqual(said("CHANGELOG.md", r"^## ([\d.]+)"), version)
        self.assertEqual(said(f"docs/releases/{version}.md", r"\A# SimSGD (\S+)$"), version)
        self.assertEqual(said("docs/python.md", r"simsgd-([\d.]+)-py3"), version)


class Protocol(unittest.TestCase):
    """`simsgd worker` by itself."""

    def answers(self, *lines):
        done = subprocess.run([PROGRAM, "worker"], input="\n".join(lines) + "\n", capture_output=True, text=True, check=True)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def test_it_says_who_it_is_and_answers_in_order(self):
        hello, first, second = self.answers('{"id": 1, "arguments": ["list", "optimizers", "--json"]}',
                                            '{"id": "b", "arguments": ["--version"]}')
        self.assertEqual(hello, {"simsgd": simsgd.__version__, "protocol": 1})
        self.assertEqual((first["id"], first["exit_code"]), (1, 0))
        self.assertTrue(json.loads(first["output"]))
        self.assertEqual((second["id"], second["output"][:6]), ("b", "simsgd"))

    def test_bad_lines_are_answered_with_all_that_is_wrong(self):
        _, no_json, wrong = self.answers("hello", '{"id": 3, "argument": ["run"], "input": 5}')
        self.assertEqual(no_json["errors"][0]["problem"], "is not an object")
        self.assertEqual({each["problem"] for each in wrong["errors"]}, {"is not a key of a request", "is not a text", "has no arguments"})
        self.assertEqual((wrong["id"], wrong["exit_code"]), (3, 2))


class Exports(unittest.TestCase):
    """Decoded without the code that writes them; tests/report/one_run.cpp checks every record's sums."""

    def test_event_files_have_the_curves(self):
        run = simsgd.run(SMALL)
        with tempfile.TemporaryDirectory() as folder:
            path = run.to_tensorboard(os.path.join(folder, "logs"))
            self.assertEqual(os.path.dirname(path), os.path.join(folder, "logs"))
            with open(path, "rb") as file:
                data = file.read()
        events = []
        while data:
            size = struct.unpack("<Q", data[:8])[0]
            events.append(data[12:12 + size])
            data = data[16 + size:]
        self.assertEqual(events[0][11:], b"brain.Event:2")
        found = {}
        for event in events[1:]:
            name = next(name for name in run.curves if name.encode() in event)
            found.setdefault(name, []).append((struct.unpack("<d", event[1:9])[0], struct.unpack("<f", event[-4:])[0]))
        self.assertEqual(found, {name: [(time_s, struct.unpack("<f", struct.pack("<f", value))[0]) for time_s, value in points]
                                 for name, points in run.curves.items()})

    def test_history_has_a_row_an_instant(self):
        run = simsgd.run(SMALL)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "history.jsonl")
            run.to_wandb(path)
            with open(path, encoding="utf-8") as file:
                rows = [json.loads(line) for line in file]
        self.assertEqual([row["_step"] for row in rows], [*range(len(rows))])
        for name, points in run.curves.items():
            self.assertEqual([(row["simulated_time_s"], row[name]) for row in rows if name in row], points)

"""A training method outside the program: the template is built with the header package alone, and runs."""

import json
import os
import re
import resource
import shutil
import subprocess
import tempfile
import unittest

import simsgd
from scenario import SMALL, SOURCES, TIMED
from simsgd import program

PROGRAM = os.environ["SIMSGD"]
BUILD = os.path.dirname(PROGRAM)


def made(*words):
    subprocess.run(words, check=True, capture_output=True, text=True)


@unittest.skipIf(shutil.which("cmake") is None or shutil.which("gcc") is None, "no cmake, or no compiler")
class Plugin(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp()
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        prefix, build, own = (os.path.join(cls.folder, name) for name in ("prefix", "build", "own"))
        made("cmake", "--install", BUILD, "--component", "dev", "--prefix", prefix)
        shutil.copytree(os.path.join(prefix, "share/doc/simsgd/examples/plugin"), own)  # nothing of the sources is beside it
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        made("cmake", "-S", own, "-B", build, f"-Dsimsgd_DIR={prefix}/lib/cmake/simsgd")
        made("cmake", "--build", build)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        cls.seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        cls.library = os.path.join(build, "libelastic.so")

    def simsgd(self, *words, library=None, text=json.dumps(SMALL)):
        return subprocess.run([PROGRAM, *words, "--plugin", library or self.library], input=text, capture_output=True, text=True)

    def run_json(self, algorithm):
        done = self.simsgd("run", "-", "--json", "--set", f"/algorithm={json.dumps(algorithm)}")
        self.assertEqual(done.returncode, 0, done.stderr)
        return json.loads(done.stdout)

    def refused(self, library):
        done = self.simsgd("run", "-", library=library)
        self.assertEqual(done.returncode, 2)
        return done.stderr

    def stub(self, version, layout):
        """A library that says this of itself."""
        source = os.path.join(self.folder, "stub.c")
        with open(source, "w") as file:
            file.write(f'static const struct {{ const char* version; unsigned long long layout; }} abi = {{"{version}", {layout}}};\n'
                       "const void* simsgd_plugin_abi(void) { return &abi; }\nvoid simsgd_plugin_algorithms(void* into) {}\n")
        made("gcc", "-shared", "-fPIC", "-o", source + ".so", source)
        return source + ".so"

    def test_the_template_builds_in_20_seconds(self):
        self.assertLess(self.seconds, 20)

    def test_all_the_way_to_the_mean_is_local_sgd_bit_for_bit_and_half_of_it_is_not(self):
        local = self.run_json({"name": "local_sgd", "period": 3})
        whole = self.run_json({"name": "elastic_averaging", "period": 3, "share": 1})
        for part in ("series", "metrics", "workers"):
            self.assertEqual(whole[part], local[part])
        half = self.run_json({"name": "elastic_averaging", "period": 3})
        self.assertEqual(half["metrics"]["simulated_time_s"], local["metrics"]["simulated_time_s"])
        self.assertNotEqual(half["series"], local["series"])

    def test_list_schema_and_check_know_it_with_its_options(self):
        told = self.simsgd("list", "algorithms", "elastic_averaging").stdout
        for words in ("arXiv:1412.6651", "share", "How much of the way to the mean a model goes", "From the library libelastic.so"):
            self.assertIn(words, told)
        self.assertIn("elastic_averaging", self.simsgd("schema").stdout)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "s.json")
            with open(path, "w") as file:
                json.dump({**SMALL, "algorithm": {"name": "elastic_averaging", "share": 2, "perod": 3}}, file)
            checked = self.simsgd("check", path)
            self.assertEqual(checked.returncode, 2)
            self.assertRegex(checked.stderr, r"/algorithm/share.*2")
            self.assertRegex(checked.stderr, r'/algorithm/perod.*Did you mean "period"')

    def test_results_say_which_library_they_come_from_and_run_again_with_it_alone(self):
        document = self.run_json({"name": "elastic_averaging"})
        named = document["scenario"]["algorithm"]["library"]
        self.assertRegex(named, r"^libelastic\.so [0-9a-f]{16}$")
        again = self.simsgd("run", "-", "--json", text=json.dumps(document["scenario"]))
        self.assertEqual(json.loads(again.stdout)["metrics"], document["metrics"])
        other = json.loads(json.dumps(document["scenario"]))
        other["algorithm"]["library"] = "libelastic.so 0000000000000000"
        refused = self.simsgd("run", "-", text=json.dumps(other))
        self.assertEqual(refused.returncode, 2)
        self.assertIn(f'is not what was loaded, which is "{named}"', refused.stderr)

    def test_a_study_in_python_takes_it_from_the_environment_and_resumes(self):
        self.addCleanup(program._close_all)
        self.addCleanup(os.environ.pop, "SIMSGD_PLUGINS")
        program._close_all()
        os.environ["SIMSGD_PLUGINS"] = self.library
        study = simsgd.Study(TIMED).over("/algorithm/name", ["local_sgd", {"name": "elastic_averaging", "share": 0.25}])
        with tempfile.TemporaryDirectory() as folder:
            results = study.run(os.path.join(folder, "s.db"))
            self.assertEqual({row["algorithm"] for row in results.rows()}, {"local_sgd", "elastic_averaging"})
            seen = []
            study.run(results.file, progress=lambda done, of: seen.append(done))
            self.assertEqual(seen, [])

    def test_a_worker_that_has_run_without_it_takes_it_for_one_command(self):
        words = ["run", "-", "--json", "--set", '/algorithm={"name": "elastic_averaging", "share": 2}', "--plugin", self.library]
        simsgd.run(TIMED)
        with self.assertRaisesRegex(simsgd.InputError, "/algorithm/share"):
            simsgd.command(*words, input=json.dumps(TIMED))
        words[4] = words[4].replace("2}", "0.5}")
        document = json.loads(simsgd.command(*words, input=json.dumps(TIMED)))
        self.assertIn("libelastic.so", document["scenario"]["algorithm"]["library"])
        with self.assertRaisesRegex(simsgd.InputError, '/algorithm/name.*"elastic_averaging"'):
            simsgd.run(TIMED, algorithm="elastic_averaging")

    def test_without_it_its_name_is_unknown(self):
        done = subprocess.run([PROGRAM, "run", "-", "--set", "/algorithm/name=elastic_averaging"], input=json.dumps(SMALL),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 2)

    def test_libraries_of_other_versions_and_layouts_are_told_apart(self):
        self.assertRegex(self.refused(self.stub("9.9.9", 1)), rf"stub\.c\.so: was built for SimSGD 9\.9\.9, and this is {re.escape(simsgd.__version__)}\. Build it again")
        self.assertIn("classes are laid out differently", self.refused(self.stub(simsgd.__version__, 1)))

    def test_what_is_no_library_of_methods_says_so(self):
        self.assertIn("does not exist, or is not a file", self.refused("/nowhere/libmine.so"))
        self.assertIn("cannot be loaded", self.refused(os.path.abspath(__file__)))
        source = os.path.join(self.folder, "empty.c")
        with open(source, "w"):
            pass
        made("gcc", "-shared", "-fPIC", "-o", source + ".so", source)
        self.assertIn("Write SIMSGD_PLUGIN at the end", self.refused(source + ".so"))
        self.assertIn("names no file", subprocess.run([PROGRAM, "list", "--plugin"], capture_output=True, text=True).stderr)

    def test_two_methods_of_one_name_are_refused(self):
        copy = os.path.join(self.folder, "libcopy.so")
        shutil.copy(self.library, copy)
        done = self.simsgd("list", "algorithms", "--plugin", copy)
        self.assertEqual(done.returncode, 2)
        self.assertIn('defines the method "elastic_averaging", and a method of that name already exists', done.stderr)


if __name__ == "__main__":
    unittest.main()

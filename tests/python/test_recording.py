"""simsgd.record: a network of which every number is known by hand becomes a workload that runs."""

import json
import os
import stat
import tempfile
import threading
import time
import unittest

import simsgd
from scenario import TIMED

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "no python3-torch")
class Outputs(unittest.TestCase):
    def test_a_file_is_whole_or_not_there_and_nobody_is_led_elsewhere(self):
        from simsgd.recording import output
        with tempfile.TemporaryDirectory() as folder:
            path, link = os.path.join(folder, "x.json"), os.path.join(folder, "link")
            os.symlink(os.path.join(folder, "victim"), path + ".part")
            os.symlink("x.json", link)
            with self.assertRaises(ZeroDivisionError), output(path) as file:
                file.write("half")
                raise ZeroDivisionError
            self.assertFalse(os.path.exists(path))
            with output(path) as one, output(link) as other:  # the link leads to the same file
                one.write("one" * 10_000)
                other.write("other")
            with open(path, encoding="utf-8") as file:
                self.assertEqual(file.read(), "one" * 10_000)
            os.chmod(path, 0o640)
            with output(link, "wb") as file:
                file.write(b"more")
            self.assertTrue(os.path.islink(link))
            self.assertEqual(os.stat(path).st_size, 4)
            self.assertEqual(stat.S_IMODE(os.stat(path).st_mode), 0o640)
            self.assertEqual(sorted(os.listdir(folder)), ["link", "x.json", "x.json.part"])

    def test_a_device_and_a_fifo_are_written_into(self):
        from simsgd.recording import output
        with tempfile.TemporaryDirectory() as folder:
            null, fifo = os.path.join(folder, "null"), os.path.join(folder, "fifo")
            os.symlink("/dev/null", null)
            os.mkfifo(fifo)
            with output(null) as file:
                file.write("gone")
            self.assertTrue(stat.S_ISCHR(os.stat("/dev/null").st_mode))
            read = []
            reader = threading.Thread(target=lambda: read.append(open(fifo, encoding="utf-8").read()))
            reader.start()
            with output(fifo) as file:
                file.write("through")
            reader.join()
            self.assertEqual(read, ["through"])
            self.assertEqual(sorted(os.listdir(folder)), ["fifo", "null"])


@unittest.skipIf(torch is None, "no python3-torch")
class Recorded(unittest.TestCase):
    def network(self):
        torch.manual_seed(1)
        torch.set_num_threads(1)
        return torch.nn.Sequential(torch.nn.Conv2d(1, 4, 3, padding=1), torch.nn.ReLU(), torch.nn.Flatten(), torch.nn.Linear(4 * 36, 10))

    def steps(self, model, count):
        walls = []
        for _ in range(count):
            begin = time.perf_counter()
            torch.nn.functional.cross_entropy(model(torch.randn(8, 1, 6, 6)), torch.randint(10, [8])).backward()
            walls.append(time.perf_counter() - begin)
        return walls

    def test_layers_are_those_of_the_network_and_times_add_up_to_the_step(self):
        model = self.network()
        with simsgd.record(model, device_name="CPU core") as recorded:
            walls = self.steps(model, 9)
        workload = recorded.workload
        conv, fc = workload["layers"]
        # 36 places x 4 channels x 9 weights x 2; 144 x 10 x 2.
        self.assertEqual([conv[key] for key in ("type", "tensors", "forward_flop", "activations", "positions")], ["conv", [[4, 9], 4], 2592, 144, 36])
        self.assertEqual([fc[key] for key in ("type", "tensors", "forward_flop", "activations")], ["fc", [[10, 144], 10], 2880, 10])
        self.assertEqual(workload["batch"], 8)
        self.assertLessEqual(workload["one_device"][0]["forward_backward"], max(walls[3:]))
        for layer in (conv, fc):
            self.assertGreater(min(layer["forward"], layer["backward"]), 0)
        self.assertEqual(len(recorded._steps_s), 3)  # of nine three warm up, and of the others every second one has no marks
        run = simsgd.run({**TIMED, "workload": workload}, {"/stragglers": []})
        self.assertGreater(run.metrics["compute_s"], 0)
        marks = len(model[0]._forward_hooks) + len(model._forward_pre_hooks)
        self.assertEqual(marks, 0)  # the model is as it was

    def test_too_few_steps_are_said(self):
        model = self.network()
        with simsgd.record(model) as recorded:
            self.steps(model, 2)
        with self.assertRaisesRegex(ValueError, "2 steps were recorded, and 3 are to warm up"):
            recorded.workload

    def test_of_ddp_buckets_and_what_travels_beside_gradients_are_recorded_and_training_is_the_same(self):
        torch.set_num_threads(1)
        with tempfile.TemporaryDirectory() as folder:
            torch.distributed.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=0, world_size=1)
            try:
                trained = []
                for recorded in (False, True):
                    torch.manual_seed(1)
                    # Buckets of at least a megabyte, which DDP has as its first one: 2,112 to 262,656 parameters a layer.
                    model = torch.nn.parallel.DistributedDataParallel(
                        torch.nn.Sequential(torch.nn.Linear(32, 512), torch.nn.BatchNorm1d(512), torch.nn.Linear(512, 512),
                                            torch.nn.Linear(512, 512), torch.nn.Linear(512, 10)), bucket_cap_mb=1)
                    if recorded:
                        with simsgd.record(model, device_name="CPU core") as recording:
                            self.train(model, 9)
                        self.train(model, 1)  # DDP keeps the hook, which goes on without the recording
                    else:
                        self.train(model, 10)
                    trained.append([p.detach().clone() for p in model.parameters()])
                for plain, seen in zip(*trained):
                    self.assertTrue(torch.equal(plain, seen))
            finally:
                torch.distributed.destroy_process_group()
        parameters = sum(p.numel() for p in model.parameters())
        self.assertGreater(len(recording.buckets), 1)
        self.assertEqual(sum(bucket["bytes"] for bucket in recording.buckets), 4 * parameters)
        ready = [bucket["ready_s"] for bucket in recording.buckets]
        self.assertEqual(ready, sorted(ready))
        self.assertGreater(ready[0], 0)
        # Running mean and variance of 512 features, float32, and a count of int64; 3 numbers by the script itself.
        self.assertEqual(recording.beside, {"buffers": 2 * 512 * 4 + 8, "all_reduce": 12.0})
        workload = recording.workload
        self.assertEqual([layer["name"] for layer in workload["layers"]], ["0", "1", "2", "3", "4"])
        self.assertIn("beside gradients 12 bytes a step of all_reduce", workload["source"])
        self.assertGreater(simsgd.run({**TIMED, "workload": workload}, {"/stragglers": []}).metrics["compute_s"], 0)

    def train(self, model, steps):
        optimizer = torch.optim.SGD(model.parameters(), 0.01)
        for _ in range(steps):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(torch.randn(8, 32)), torch.randint(10, [8]))
            loss.backward()
            optimizer.step()
            torch.distributed.all_reduce(torch.zeros(3))

    def test_a_saved_workload_is_used_by_its_file(self):
        model = self.network()
        with simsgd.record(model, device_name="CPU core") as recorded:
            self.steps(model, 5)
        with tempfile.TemporaryDirectory() as folder:
            path = recorded.save(os.path.join(folder, "w.json"))
            with open(path) as file:
                self.assertEqual(json.load(file), recorded.workload)
            self.assertGreater(simsgd.run({**TIMED, "workload": {"use": path}}, {"/stragglers": []}).metrics["compute_s"], 0)


if __name__ == "__main__":
    unittest.main()

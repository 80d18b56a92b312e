"""simsgd.record: a network of which every number is known by hand becomes a workload that runs."""

import time
import unittest

import simsgd
from scenario import TIMED

try:
    import torch
except ImportError:
    torch = None


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
        self.assertEqual(len(recorded._steps_s), 6)  # three warm up
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


if __name__ == "__main__":
    unittest.main()

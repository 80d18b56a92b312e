"""Scenarios that the tests share."""

import os

SOURCES = os.path.abspath(os.path.join(os.path.dirname(__file__), "..", ".."))

SMALL = {
    "name": "small",
    "cluster": {"use": "clusters/ethernet-1g.json", "workers": 4},
    "workload": {"use": "workloads/resnet20.json", "batch": 128},
    "learner": {"model": {"name": "softmax_regression"}, "data": {"name": "gaussian_mixture"}, "batch": 16},
    "optimizer": {"name": "sgd", "learning_rate": 0.05, "momentum": 0.9},
    "algorithm": {"name": "local_sgd", "period": 3},
    "stragglers": [{"name": "lognormal", "mean": "20 ms", "sigma": 0.5}],
    "stop": {"steps": 12},
    "record": {"evaluate_every": 4},
}
TIMED = {**SMALL, "learner": None, "record": {}}

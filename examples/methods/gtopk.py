"""gTop-k S-SGD (Shi et al., ICDCS 2019, arXiv:1901.04359): all workers apply the same k entries, found by a tree of merges;
what was not sent stays in the residual."""


def gtopk(w, options):
    chosen = w.sparsifier(options["density"], options["put_back"])
    while (yield w.next_step()):
        accumulated, selected = yield chosen.choose((yield w.gradient()))
        merged = yield chosen.merge(selected)
        chosen.keep(accumulated, selected, merged)
        yield w.apply(chosen.mean(merged))
    chosen.note()


gtopk.options = {"density": {"default": 0.001, "minimum": 0.0, "maximum": 1.0},
                 "put_back": {"default": "paper", "choices": ["paper", "exact"]}}
gtopk.memory = {"residual": 1}

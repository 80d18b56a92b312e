"""Local SGD (Stich, ICLR 2019, arXiv:1805.09767): train alone, average the models every `period` steps."""


def local_sgd(w, options):
    while (yield w.next_step()):
        yield w.apply((yield w.gradient()))
        if w.step % options["period"] == 0:
            w.set((yield w.all_reduce(w.parameters(), scale=1 / w.size, traffic="model")))


local_sgd.options = {"period": {"default": 1, "minimum": 1, "help": "steps between two averagings of the models"}}

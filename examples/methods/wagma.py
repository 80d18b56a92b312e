"""WAGMA-SGD (Li et al., IEEE TPDS 32(7), 2021, arXiv:2005.00124): models are averaged in changing groups, without waiting for
late workers; every `period` steps by all. Groups: in iteration t, ranks that differ in bits (t g + r) mod L, r < g."""


def groups_of(w, size):
    bits, width = w.size.bit_length() - 1, size.bit_length() - 1
    for t in range(bits if width else 1):
        mask = sum({1 << (t * width + r) % bits for r in range(width)})
        yield w.group([rank for rank in range(w.size) if (rank ^ w.rank) & ~mask == 0])


def wagma(w, options):
    size, period = options["group_size"], options["period"]
    groups = [*groups_of(w, size)]
    given, given_in = w.parameters(), 0

    def part(version, arrived):  # of a group operation, perhaps in the background
        iteration = version + version // (period - 1)
        w.staleness(iteration + 1 - given_in)
        return w.all_reduce(given, traffic="model", group=groups[iteration % len(groups)], channel=1,
                            schedule="recursive_doubling")

    service = w.wait_avoiding(part)
    while (yield w.next_step()):
        yield w.apply((yield w.gradient()))
        given, given_in = w.parameters(), w.step
        if w.step % period == 0:
            w.set((yield w.all_reduce(given, scale=1 / w.size, traffic="model", schedule="recursive_doubling")))
        elif size > 1:
            fresh, result, seen = yield service.call()
            w.set(w.combine((1,), (result,), 1 / size) if fresh else
                  w.combine((1, 1), (seen, w.parameters()), 1 / (size + 1)))


wagma.options = {"group_size": {"default": 4, "minimum": 1}, "period": {"default": 10, "minimum": 2}}
wagma.memory = {"send and receive buffers": 2}

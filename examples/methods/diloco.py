"""DiLoCo (Douillard et al., arXiv:2311.08105): workers train alone, an outer optimizer follows the mean of how far they went.
At step k fragment f is exchanged if H divides k + floor(f H / F); u <- mu u + D; g <- g - eta (D + mu u)."""


def diloco(w, options):
    every, count, rate, mu = (options[key] for key in ("inner_steps", "fragments", "outer_rate", "outer_momentum"))
    agreed = [w.fragment(f, count) for f in range(count)]
    velocity = [None] * count
    outer_s = w.kernel_s("vector_pass", 12, 8)
    while (yield w.next_step()):
        yield w.apply((yield w.gradient()))
        for f in range(count):
            if (w.step + f * every // count) % every:
                continue
            numbers = w.fragment_parameters(f, count)
            gone = agreed[f] - w.fragment(f, count)
            mean = yield w.all_reduce(gone, scale=1 / w.size, bytes=4 * numbers, tensors=w.fragment_tensors(f, count),
                                      traffic="model")
            velocity[f] = w.combine((mu, 1), (velocity[f], mean)) if velocity[f] else mean
            agreed[f] = w.combine((1, -rate, -rate * mu), (agreed[f], mean, velocity[f]))
            yield w.spend("compute", outer_s * numbers * w.slower)
            w.set_fragment(f, count, w.combine((0, 1), (w.fragment(f, count), agreed[f])))


diloco.options = {"inner_steps": {"default": 32, "minimum": 1}, "fragments": {"default": 1, "minimum": 1},
                  "outer_rate": {"default": 0.7}, "outer_momentum": {"default": 0.9, "minimum": 0}}
diloco.memory = {"outer model and momentum": 2}

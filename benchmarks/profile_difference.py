"""What `s3bench.profiling.difference` finds of planted changes, and how often it tells something of nothing.

    python benchmarks/profile_difference.py [--trials 40] [--level 200] [--rates 200 500] [--suspected]

Simulated profiles: a random tree of some 1,500 calls and imports whose 500 ms are spread as in a start of aws-cli (a
few long paths, many short ones). Samples of a path are Poisson distributed; the speed of the machine varies from run to
run by `--speed` (standard deviation of its logarithm). Planted is a new import with modules of its own below it, or
more time in one existing function. It prints how often the planted place is told first, how often it is told at all,
and how often anything else is told; the standard error of a share is sqrt(p (1 - p) / trials).
Target: with nothing planted, anything is told in at most 5 %.
"""

import argparse
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from s3bench.profiling.difference import time_differences
from s3bench.profiling.stack_profile import Frame, ProfiledRun, Sampled, Stack, StackProfile

TOTAL_S = 0.5
NODES = 1500
DEPTH_MAX = 25  # without the frames of the import system
NEW_MODULES = 4


@dataclass(slots=True)
class CallTree:
    """Frames by number, the path to each, and its time in itself in seconds."""

    frames: list[Frame] = field(default_factory=list)
    paths: list[tuple[int, ...]] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)

    def add(self, parent: int | None, function: str, seconds: float) -> int:
        """Add a node below `parent` and return its number."""
        number = len(self.frames)
        self.frames.append(Frame(module=f"m{number}", function=function, file=f"m{number}.py", line=1))
        self.paths.append((*(self.paths[parent] if parent is not None else ()), number))
        self.seconds.append(seconds)
        return number


def random_tree(generator: np.random.Generator) -> CallTree:
    """A tree whose newest nodes get most children, with Pareto distributed times."""
    tree = CallTree()
    tree.add(None, "<module>", 0.0)
    times = generator.pareto(1.3, NODES)
    for number, own in enumerate(times * TOTAL_S / times.sum(), start=1):
        parent = number - int(min(generator.geometric(0.15), number))
        while len(tree.paths[parent]) > DEPTH_MAX:
            parent = int(generator.integers(number))
        tree.add(parent, "<module>" if generator.random() < 0.4 else "call", float(own))
    return tree


def profile_of(tree: CallTree, *, runs: int, rate: float, speed: float, generator: np.random.Generator) -> StackProfile:
    """Sample it."""
    profiled = []
    for _ in range(runs):
        counts = generator.poisson(np.array(tree.seconds) * rate * np.exp(generator.normal(0, speed)))
        profiled.append(
            ProfiledRun(total_time=0, cpu_time=0, samples={int(at): int(counts[at]) for at in np.flatnonzero(counts)})
        )
    return StackProfile(
        sampled=Sampled.WALL_TIME,
        interval_s=1 / rate,
        frames=tuple(tree.frames),
        stacks=tuple(Stack(frames=path) for path in tree.paths),
        runs=tuple(profiled),
    )


def plant(tree: CallTree, kind: str, size_s: float, generator: np.random.Generator) -> tuple[CallTree, str]:
    """The tree with one change, and the place that is to be told."""
    changed = CallTree(list(tree.frames), list(tree.paths), list(tree.seconds))
    at = int(generator.integers(1, NODES))
    if kind == "function":
        if tree.frames[at].function == "<module>":
            return plant(tree, kind, size_s, generator)
        changed.seconds[at] += size_s
        return changed, tree.frames[at].name
    first = changed.add(at, "<module>", size_s / NEW_MODULES)
    for _ in range(NEW_MODULES - 1):
        changed.add(first, "<module>", size_s / NEW_MODULES)
    return changed, changed.frames[first].module


def calls_of(tree: CallTree, planted: str) -> frozenset[tuple[str, str]]:
    """The call of the planted place."""
    return frozenset(
        (tree.frames[path[-2]].name, tree.frames[path[-1]].name)
        for path in tree.paths[1:]
        if planted in {tree.frames[path[-1]].name, tree.frames[path[-1]].module}
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=40)
    parser.add_argument("--level", type=int, default=200)
    parser.add_argument("--rates", type=float, nargs="+", default=[200.0, 500.0])
    parser.add_argument("--runs", type=int, nargs="+", default=[10, 20, 30])
    parser.add_argument("--sizes", type=float, nargs="*", default=[1.0, 3.0, 5.0, 10.0, 20.0], help="milliseconds")
    parser.add_argument("--suspected", action="store_true", help="the planted call is known to differ")
    parser.add_argument("--speed", type=float, nargs="+", default=[0.1])
    options = parser.parse_args(arguments)
    generator = np.random.default_rng(1)
    for speed in options.speed:
        for rate in options.rates:
            for runs in options.runs:
                sampling = {"runs": runs, "rate": rate, "speed": speed, "generator": generator}
                told = 0
                for _ in range(options.level):
                    tree = random_tree(generator)
                    found = time_differences(profile_of(tree, **sampling), profile_of(tree, **sampling))
                    told += bool(found.causes)
                of_nothing = f": something told of nothing {told / options.level:.1%}" if options.level else ""
                print(f"speed {speed:.0%}, {rate:.0f} Hz, {runs} runs a side{of_nothing}", flush=True)
                for kind in ("import", "function"):
                    for size in options.sizes:
                        print_power(kind, size, options.trials, sampling, suspected=options.suspected)


def print_power(kind: str, size: float, trials: int, sampling: dict[str, object], *, suspected: bool) -> None:
    """Print one line."""
    generator = sampling["generator"]
    assert isinstance(generator, np.random.Generator)
    first = named = wrong = 0
    started = time.process_time()
    for _ in range(trials):
        tree = random_tree(generator)
        changed, planted = plant(tree, kind, size / 1000, generator)
        before = profile_of(tree, **sampling)  # type: ignore[arg-type]
        after = profile_of(changed, **sampling)  # type: ignore[arg-type]
        found = time_differences(before, after, suspected=calls_of(changed, planted) if suspected else frozenset())
        places = [cause.place for cause in found.causes]
        first += places[:1] == [planted]
        named += planted in places
        wrong += any(place != planted for place in places)
    each = (time.process_time() - started) / trials
    print(
        f"  {kind:8} {size:4.0f} ms: first {first / trials:4.0%}, told {named / trials:4.0%}, "
        f"others told {wrong / trials:4.0%} ({each:.2f} s each)",
        flush=True,
    )


if __name__ == "__main__":
    main()

"""How the benchsuite judges: pairs in turn, an A/A control in the same rounds, and an interval instead of a point.

A round runs the peer, the peer again (the control) and ours, each once, so that what the machine does meanwhile meets all
three, in another order each round, so that coming first or after the other is nobody's part. Rounds are added until the 95 % interval of the ratio ours / peer is within +-3 %, or 60 are done. A bound fails where the
whole interval lies below it; an interval that never got narrow is "not decided", which is no pass.
"""

import itertools
import math
import statistics

ROUNDS_MIN = 8
ROUNDS_MAX = 60
HALF_WIDTH = 0.03
# Of the normal distribution, two-sided 95 %.
Z_95 = 1.96
# What one run leaves in a cache or in flight meets the next one: each of the three comes equally often first, second and last.
ORDERS = list(itertools.permutations(["first", "again", "mine"]))


def interval(ratios):
    """The Hodges-Lehmann estimate of a paired ratio and its 95 % interval by Wilcoxon's signed ranks, of the logarithms.

    A device that stalls for a second spoils one round by a factor of five: it moves a mean and its deviation, but hardly a rank.
    """
    middle, low, high = difference_interval([math.log(ratio) for ratio in ratios])
    return math.exp(middle), math.exp(low), math.exp(high)


def difference_interval(differences):
    """The same of paired differences."""
    count = len(differences)
    walsh = sorted((differences[i] + differences[j]) / 2 for i in range(count) for j in range(i, count))
    spread = math.sqrt(count * (count + 1) * (2 * count + 1) / 24)
    cut = max(0, math.floor(count * (count + 1) / 4 - Z_95 * spread - 0.5))
    return statistics.median(walsh), walsh[cut], walsh[-1 - cut]


def measure(peer, ours, rounds_max=ROUNDS_MAX, shown=lambda text: None):
    """Runs rounds until the ratio is known. Each of the two gives a rate: more is better. Returns (ratio, control, rounds)."""
    ratios, controls, stalled = [], [], 0
    while len(ratios) < rounds_max:
        order = ORDERS[len(ratios) % len(ORDERS)]
        rates = {name: ours() if name == "mine" else peer() for name in order}
        first, again, mine = rates["first"], rates["again"], rates["mine"]
        if min(first, again, mine) <= 0:
            # The device stood still for a whole run: that says nothing of either program.
            stalled += 1
            shown(f"a run without a request: this round does not count ({stalled})")
            if stalled > ROUNDS_MIN:
                raise SystemExit("the device stands still again and again: nothing can be compared here")
            continue
        ratios.append(mine / math.sqrt(first * again))
        controls.append(again / first)
        if len(ratios) >= ROUNDS_MIN:
            middle, low, high = interval(ratios)
            shown(f"{len(ratios)} rounds: {middle:.3f} ({low:.3f} to {high:.3f})")
            if high / middle - 1 <= HALF_WIDTH and 1 - low / middle <= HALF_WIDTH:
                break
    return interval(ratios), interval(controls), len(ratios)


def verdict(ratio, control, bound):
    """What the intervals say of `ratio >= bound`."""
    middle, low, high = ratio
    if not control[1] <= 1 <= control[2]:
        return f"control is off: {control[1]:.3f} to {control[2]:.3f}"
    if high < bound:
        return f"FAILS: all of it is below {bound}"
    # An interval that lies above the bound as a whole has decided, however wide it is.
    if low >= bound:
        return "holds"
    if max(high / middle - 1, 1 - low / middle) > HALF_WIDTH:
        return "not decided"
    return "holds"

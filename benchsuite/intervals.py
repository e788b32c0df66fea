"""How the benchsuite judges: pairs in turn, an A/A control in the same rounds, and an interval instead of a point.

A round runs the peer, the peer again (the control) and ours, each once, so that what the machine does meanwhile meets all
three. Rounds are added until the 95 % interval of the ratio ours / peer is within +-3 %, or 60 are done. A bound fails where the
whole interval lies below it; an interval that never got narrow is "not decided", which is no pass.
"""

import math
import statistics

ROUNDS_MIN = 8
ROUNDS_MAX = 60
HALF_WIDTH = 0.03
# Student's t for 95 %, by degrees of freedom; beyond the last the normal distribution will do.
T_95 = {7: 2.365, 8: 2.306, 9: 2.262, 10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000}


def t_95(freedom):
    return T_95[max(known for known in T_95 if known <= freedom)]


def interval(ratios):
    """The geometric mean of paired ratios and the 95 % interval of it, by the logarithms."""
    logs = [math.log(ratio) for ratio in ratios]
    mean = statistics.fmean(logs)
    half = t_95(len(logs) - 1) * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), math.exp(mean - half), math.exp(mean + half)


def measure(peer, ours, rounds_max=ROUNDS_MAX, shown=lambda text: None):
    """Runs rounds until the ratio is known. Each of the two gives a rate: more is better. Returns (ratio, control, rounds)."""
    ratios, controls = [], []
    while len(ratios) < rounds_max:
        # Who comes first changes from round to round: what warms a cache warms it for the others.
        if len(ratios) % 2 == 0:
            first, again, mine = peer(), peer(), ours()
        else:
            mine, again, first = ours(), peer(), peer()
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
    if max(high / middle - 1, 1 - low / middle) > HALF_WIDTH:
        return "not decided"
    return "holds"

# SPDX-License-Identifier: Apache-2.0
"""A plot of the warm ratios: python -m programs.plot RESULTS FILE, where matplotlib is."""

import json
import sys

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams["svg.hashsalt"] = "braze"  # the same figures give the same file
matplotlib.rcParams["svg.fonttype"] = "none"
from matplotlib import pyplot  # noqa: E402

from . import report  # noqa: E402
from .table import GROUPS, SIZES  # noqa: E402


def main():
    with open(sys.argv[1]) as file:
        results = json.load(file)
    figure, axes = pyplot.subplots(1, len(SIZES), figsize=(10, 3.5), sharey=True)
    for axis, size in zip(axes, SIZES, strict=True):
        for group, title in GROUPS.items():
            ratios = sorted(report.ratio(r, "warm") for _, r in report.pick(results, group, size))
            shares = [(k + 0.5) / len(ratios) for k in range(len(ratios))]
            axis.plot(shares, ratios, ".-", markersize=3, linewidth=0.8, label=title)
        axis.axhline(1, color="black", linewidth=0.6)
        axis.set_yscale("log")
        axis.set_title(size)
        axis.set_xlabel("share of programs")
    axes[0].set_ylabel("NumPy's time / braze's, warm")
    axes[0].legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(sys.argv[2], metadata={"Date": None})


if __name__ == "__main__":
    main()

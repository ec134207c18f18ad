#!/usr/bin/env python3
"""Draws the figures of docs/performance.md into docs/img.

usage: plot.py [--results results.json ...] [--growth growth.json] [--out docs/img]

  --results  what a run over real schemas kept: {engine: [{"ttfm": us, "tbm": [us, ...]}, ...]}, one entry for
             each schema. Draws ttfm.svg and tbm.svg: which share of schemas, and of masks, was done within a
             time. Several files are joined; of an engine that is in more than one, the last counts.
  --growth   what bench/growth.py --out wrote. Draws growth.svg: times and memory by size, with their slopes.

Needs matplotlib, which nothing else does: pip install matplotlib. The same input gives the same bytes.
The whole of docs/img:

    python3 bench/growth.py --out growth.json
    python3 bench/plot.py --results results.json --growth growth.json
"""
import argparse
import json
import os

import matplotlib

matplotlib.use("svg")
matplotlib.rcParams.update({
    "svg.fonttype": "none",  # text stays text
    "svg.hashsalt": "grammask",
    "font.family": "sans-serif",
    "font.size": 9,
    "axes.grid": True,
    "grid.alpha": 0.3,
    "axes.spines.top": False,
    "axes.spines.right": False,
})
from matplotlib import pyplot  # noqa: E402, the backend comes first

HERE = os.path.dirname(os.path.abspath(__file__))
COLOURS = {"grammask": "#c0392b", "llguidance": "#2471a3", "xgrammar": "#7d8a2e", "outlines": "#7f8c8d"}
POINTS = 300  # of a curve: a file of some 20 KB, whatever the number of samples


def save(figure, folder, name):
    os.makedirs(folder, exist_ok=True)
    figure.tight_layout()
    figure.savefig(os.path.join(folder, name), metadata={"Date": None, "Creator": None})
    pyplot.close(figure)


def ecdf(axes, samples, label):
    """The share of samples up to each value; more points where the tail is thin."""
    values = sorted(samples)
    if not values:
        return
    n = len(values)
    # Even steps of the share, and of the logarithm of the share that is left.
    shares = {round(i * (n - 1) / POINTS) for i in range(POINTS + 1)}
    shares |= {n - 1 - round((n - 1) ** (i / POINTS)) for i in range(POINTS + 1)} | {n - 1}
    ranks = sorted(rank for rank in shares if 0 <= rank < n)
    axes.step([values[r] for r in ranks], [(r + 1) / n for r in ranks], where="post",
              color=COLOURS.get(label), label=f"{label}, median {si(values[n // 2])}s")


def si(microseconds):
    for unit, factor in (("n", 1e-3), ("µ", 1), ("m", 1e3), ("", 1e6)):
        if microseconds < 1000 * factor or not unit:
            return f"{microseconds / factor:.3g} {unit}"


def time_axis(axes):
    axes.set_xscale("log")
    axes.xaxis.set_major_formatter(lambda x, _: si(x) + "s")


def draw_results(paths, folder):
    results = {}
    for path in paths:
        with open(path, encoding="utf-8") as f:
            results.update(json.load(f))
    for name, title, samples in (
        ("ttfm.svg", "Time to first mask: schemas done within", lambda r: [r["ttfm"]] if "ttfm" in r else []),
        ("tbm.svg", "Time between masks: masks done within", lambda r: r["tbm"]),
    ):
        figure, axes = pyplot.subplots(figsize=(6, 3.4))
        for engine, rows in results.items():
            ecdf(axes, [x for row in rows for x in samples(row)], engine)
        time_axis(axes)
        axes.set_ylim(0, 1.01)
        axes.yaxis.set_major_formatter(lambda y, _: f"{y:.0%}")
        axes.set_title(title)
        axes.legend(loc="lower right", frameon=False)
        save(figure, folder, name)


def draw_growth(path, folder):
    with open(path, encoding="utf-8") as f:
        curves = json.load(f)
    panels = [
        ("Compile to first mask", "compile: ", "bytes of schema", lambda y: si(y * 1e6) + "s"),
        ("Mask, by vocabulary", "mask: ", "tokens", lambda y: si(y) + "s"),
        ("Memory, by grammars kept", "memory", "grammars", lambda y: f"{y / 1e6:.3g} MB"),
    ]
    figure, all_axes = pyplot.subplots(1, 3, figsize=(10, 3.2))
    for axes, (title, prefix, x_label, shown) in zip(all_axes, panels):
        for name, curve in curves.items():
            if name.startswith(prefix):
                xs, ys = zip(*curve["points"])
                label = name[len(prefix):] or "resident"
                axes.plot(xs, ys, marker=".", label=f"{label}, slope {curve['slope']:.2f}")
        axes.set_xscale("log")
        axes.set_yscale("log")
        axes.yaxis.set_major_formatter(lambda y, _, shown=shown: shown(y))
        axes.set_title(title)
        axes.set_xlabel(x_label)
        axes.minorticks_off()
        if x_label == "tokens":
            axes.set_xticks([32e3, 64e3, 128e3, 262e3], ["32k", "64k", "128k", "262k"])
        axes.legend(frameon=False, fontsize=7)
    save(figure, folder, "growth.svg")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", nargs="+")
    parser.add_argument("--growth")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "docs", "img"))
    args = parser.parse_args()
    if not args.results and not args.growth:
        parser.error("nothing to draw: give --results or --growth")
    if args.results:
        draw_results(args.results, args.out)
    if args.growth:
        draw_growth(args.growth, args.out)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: GPL-2.0-only
"""Lesson 9: who repairs loss, and at what price."""

from collections.abc import Mapping, Sequence
from typing import Any

from tunnelcc.lessons import np, plots, plt, tc

PATH = {"rate": "20Mbps", "rtt": "100ms", "buffer": "200p"}
#: By name: the congestion control of the application, and the tunnel.
SYSTEMS: dict[str, tuple[str, Any]] = {
    "CUBIC": ("cubic", "none"),
    "BBR": ("bbr", "none"),
    "FEC": ("cubic", "udpspeeder"),
    "KCP": ("cubic", {"name": "kcptun", "mode": "fast2"}),
    "fixed rate": ("cubic", {"name": "finalspeed", "rate": "15Mbps"}),
}
LOSSES = [0, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3]


def run(
    system: str,
    loss: float,
    neighbour: bool = False,
    seed: int = 1,
    seconds: tuple[float, float] = (5, 20),
    **flow: Any,
) -> tc.Result:
    """Run an application through a system, beside a plain CUBIC flow if wanted.

    `seconds`: where the measurement begins and ends.
    """
    cc, tunnel = SYSTEMS[system]
    plain = [{"cc": "cubic", "tunnel": "none"}] if neighbour else []
    experiment = tc.Experiment(
        path={**PATH, "loss": loss, "reverse_loss": loss},
        flows=[*plain, {"cc": cc, **flow}],
        tunnel=tunnel,
        tcp={"nodelay": "write_size" in flow},  # a message does not wait for a full segment
        duration=f"{seconds[1]}s",
        warmup=f"{seconds[0]}s",
        seed=seed,
    )
    return tc.run(experiment, progress=False)


def runs(system: str) -> list[list[tc.Result]]:
    """Run a system at all losses, three times at each."""
    return [[run(system, loss, seed=seed) for seed in (1, 2, 3)] for loss in LOSSES]


def draw(values: Mapping[str, Sequence[Sequence[float]]], label: str, log: bool = True) -> None:
    """Draw what each system has over loss: medians of runs, and from the least to the most."""
    _, axes = plt.subplots(figsize=(5.6, 4.2))
    for index, name in enumerate(SYSTEMS):
        style = plots.category_style(index)
        losses, found = [100 * loss for loss in LOSSES], np.array(values[name])
        axes.plot(losses, np.median(found, axis=1), label=name, linewidth=1, **style)
        axes.fill_between(
            losses, found.min(axis=1), found.max(axis=1), color=style["color"], alpha=0.15, lw=0
        )
    if log:
        axes.set_yscale("log")
        axes.set_ylim(0.03, 25)
        axes.set_yticks([0.1, 0.3, 1, 3, 10], ["0.1", "0.3", "1", "3", "10"])
        axes.minorticks_off()
    axes.set(xlabel="loss (%)", ylabel=label)
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncols=3)
    plt.show()

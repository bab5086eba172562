# SPDX-License-Identifier: GPL-2.0-only
"""ReBBR: BBR under random loss, measured again."""

from tunnelcc.apps.papers import Axis, Paper, derived, metric

paper = Paper(
    title="ReBBR: BBR under random loss, measured again",
    source=(
        "github.com/jervisfm/rebbr, folder mahimahi/data, after Cardwell et al., BBR: "
        "Congestion-Based Congestion Control, ACM Queue 2016, figure 8"
    ),
)
BOTH, FIVE = ["cubic", "bbr"], ["cubic", "reno", "westwood", "vegas", "bbr"]
RATES = {"rate": Axis("path.rate", ["1Mbps", "10Mbps", "100Mbps"])}
RTTS = {"rtt": Axis("path.rtt", ["2ms", "10ms", "100ms", "200ms", "500ms"])}
for id_, title, settings, algorithms, panels in (
    ("8", "CUBIC and BBR over loss, 60 s", {"duration": "60s"}, BOTH, {}),
    ("1", "The same at 1, 10 and 100 Mbit/s, 30 s", {}, BOTH, RATES),
    ("2", "Five algorithms over loss, 30 s", {}, FIVE, {}),
    ("3", "CUBIC and BBR at five RTTs, 120 s", {"duration": "120s"}, BOTH, RTTS),
):
    paper.figure(
        id_,
        title,
        "one-flow.toml",
        settings=settings,
        axes={"cc": Axis("flows.cc", algorithms), **panels, "loss": "path.loss"},
        quantities={
            "used": metric("utilisation", plot=False),
            "wire_rate": derived(
                lambda run: run.used * run.rate, "Mbit/s", "rate at which the link sends"
            ),
        },
        x="loss",
        panels="".join(panels),
        log=True,
    )

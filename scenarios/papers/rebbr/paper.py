# SPDX-License-Identifier: GPL-2.0-only
"""ReBBR: BBR under random loss, measured again."""

from tunnelcc.apps.papers import Axis, Paper, claims, derived, metric

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
LOSSY = ("1%", "2%", "5%", "10%", "20%")


def bbr_wins(figure: str) -> list:
    """Return the claims of the authors' talk and README (PITCHME.md, README.md) on a figure."""
    factor, words = (2, "is more than twice CUBIC") if figure == "8" else (1, "outperforms CUBIC")
    made = [
        claims.order(
            f"BBR {words} at {loss} loss",
            "wire_rate",
            "cc: bbr > cubic",
            {"loss": loss},
            factor=factor,
        )
        for loss in LOSSY
    ]
    if figure == "8":
        made += [
            claims.order(
                "CUBIC is slightly above BBR at an extremely low loss",
                "wire_rate",
                "cc: cubic > bbr",
                {"loss": "0.001%"},
            ),
            claims.between(
                "BBR does not drop before a loss of 40 %: above 50 of 100 Mbit/s at 30 %",
                "wire_rate",
                50e6,
                100e6,
                {"cc": "bbr", "loss": "30%"},
            ),
        ]
    if figure == "2":
        made += [
            claims.order(
                f"BBR is above {cc} at 5 % loss", "wire_rate", f"cc: bbr > {cc}", {"loss": "5%"}
            )
            for cc in ("reno", "westwood", "vegas")
        ]
    return made


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
        claims=bbr_wins(id_),
        panels="".join(panels),
        log=True,
    )

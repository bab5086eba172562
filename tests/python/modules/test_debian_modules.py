# SPDX-License-Identifier: GPL-2.0-only
"""Linux's own congestion controls, unchanged, from Debian's package of the kernel's source."""

from __future__ import annotations

import pytest

import tunnelcc as tc
from tunnelcc import modules

NAMES = (
    "bbr", "bic", "cdg", "cubic", "dctcp", "highspeed", "htcp", "hybla", "illinois", "lp", "nv",
    "scalable", "vegas", "veno", "westwood", "yeah",
)  # fmt: skip
PATH = {"rate": "20Mbps", "rtt": "20ms"}
#: bit/s. NV leaves a part of the capacity unused where it has no rival. LP gives way even to the
#: queue that it makes itself.
LEAST = {"nv": 12e6, "lp": 0.1e6}


@pytest.mark.parametrize("name", NAMES)
def test_every_module_runs_twice_alike(name, linux_modules):
    flow = {"cc": f"linux:{linux_modules}/tcp_{name}.c"}
    experiment = tc.Experiment(path=PATH, flows=[flow], duration="6s", warmup="2s")
    result = tc.run(experiment)
    assert result.goodput > LEAST.get(name, 17e6)
    assert tc.run(experiment).digests() == result.digests()


@pytest.mark.slow
@pytest.mark.parametrize("version", ["5.10", "6.12", "7.2"])
def test_modules_of_other_versions_run(version, linux_modules):
    folder = linux_modules.with_name(f"linux-{version}")
    if not folder.is_dir():
        pytest.skip(
            f"no modules of Linux {version}: tests/linux/get-modules.sh {folder} "
            f"linux-source-{version} gets them from the version of Debian that has this package"
        )
    for name in NAMES:
        flow = {"cc": f"linux:{folder}/tcp_{name}.c"}
        result = tc.run(tc.Experiment(path=PATH, flows=[flow], duration="6s", warmup="2s"))
        assert result.goodput > LEAST.get(name, 17e6), name


@pytest.mark.parametrize("name", ["cubic", "vegas", "westwood", "bbr"])
def test_ours_behave_as_linuxs_do(name, linux_modules):
    path = PATH | {"loss": "0.2%"}
    ours, theirs = (
        tc.run(tc.Experiment(path=path, flows=[{"cc": cc}], duration="20s", warmup="2s"))
        for cc in (name, f"linux:{linux_modules}/tcp_{name}.c")
    )
    assert theirs.goodput == pytest.approx(ours.goodput, rel=0.05)


def test_parameters_have_linuxs_names_and_defaults(linux_modules):
    known = {it.name: it for it in modules.of(f"linux:{linux_modules}/tcp_cubic.c").parameters}
    assert (known["beta"].default, known["hystart"].default) == (717, 1)
    assert known["beta"].doc == "beta for multiplicative increase"
    experiment = tc.Experiment(
        path=PATH | {"loss": "0.2%"}, duration="10s",
        flows=[{"cc": {"name": f"linux:{linux_modules}/tcp_cubic.c", "beta": 300}}],
    )  # fmt: skip
    assert tc.run(experiment).goodput < tc.run(experiment.with_({"flows.0.cc.beta": 717})).goodput


def test_a_parameter_with_a_function_of_its_own_is_checked_by_it(linux_modules):
    dctcp = {"name": f"linux:{linux_modules}/tcp_dctcp.c", "dctcp_shift_g": 11}
    with pytest.raises(tc.RunError, match="'dctcp_shift_g' = 11 is refused by the module"):
        tc.run(tc.Experiment(path=PATH, flows=[{"cc": dctcp}], duration="1s"))


def test_dctcp_asks_for_marks(linux_modules):
    name = f"linux:{linux_modules}/tcp_dctcp.c"
    assert modules.of(name).needs_ecn
    path = PATH | {"queue": {"name": "codel", "ecn": True}}
    marked = tc.Experiment(path=path, flows=[{"cc": name}], duration="6s", warmup="2s")
    assert tc.run(marked).to_dict()["flows"][0]["legs"][0]["retransmits"] == 0


def test_bbr_keeps_its_bandwidth_in_probe_rtt(linux_modules):
    # It marks what it sends then as limited by the application (tp->app_limited). Otherwise, ten
    # round trips of it are all that its maximum filter knows.
    name = f"linux:{linux_modules}/tcp_bbr.c"
    data = tc.run(
        tc.Experiment(
            path=PATH | {"rtt": "10ms"}, flows=[{"cc": name}], duration="12s", probe_interval="10ms"
        )
    ).dataset.isel(flow=0, leg=0)
    in_probe = data["cwnd"].values == 4
    assert in_probe.sum() > 15
    assert data["pacing_rate"].values[in_probe].min() > 10e6

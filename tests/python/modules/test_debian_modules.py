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


@pytest.mark.parametrize("name", NAMES)
def test_every_module_runs_twice_alike(name, linux_modules):
    flow = {"cc": f"linux:{linux_modules}/tcp_{name}.c"}
    experiment = tc.Experiment(path=PATH, flows=[flow], duration="6s", warmup="2s")
    result = tc.run(experiment)
    # NV leaves a part of the capacity unused where it has no rival. LP gives way even to the queue
    # that it makes itself.
    least = {"nv": 12e6, "lp": 0.1e6}.get(name, 17e6)
    assert result.goodput > least
    assert tc.run(experiment).digests() == result.digests()


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

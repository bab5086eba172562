# SPDX-License-Identifier: GPL-2.0-only
"""Measurements of L4S and of WireGuard over TCP: what hangs on the queue and on the carrier."""

from __future__ import annotations

import pytest

from tunnelcc.apps import papers
from tunnelcc.apps.papers.simulate import Batch, simulate


def test_prague_takes_nearly_all_of_one_queue_with_marks():
    (found,) = simulate(papers.find("l4s-tests"), figures=["6"], seeds=1, jobs=2)
    assert len(found.simulated.judged) == 32
    assert not found.simulated.missed


@pytest.mark.slow
def test_prague_starves_beside_cubic_if_a_single_packet_exceeds_the_step():
    """At 10 Mbit/s a packet takes 1.2 ms; a step of two packets gives what was measured."""
    (found,) = simulate(papers.find("l4s-tests"), figures=["1-10"], seeds=1, jobs=2)
    where = {"queue": "DualPI2", "flows": "prague/cubic", "rtts": "10ms/10ms"}
    (variant, varied), *_ = found.variants
    assert variant.id == "step"
    for simulated, low, high in ((found.simulated, 0, 1e6), (varied, 4.5e6, 7.5e6)):
        (point,) = (it for it in simulated.points if dict(it.axes) == where)
        assert low < point.mean("first") < high


@pytest.mark.slow
def test_tcp_as_a_carrier_costs_little_without_loss_and_nearly_all_with_it():
    found = {it.figure.id: it for it in simulate(papers.find("wgtcp"), seeds=1, jobs=2)}
    assert not found["rtt"].simulated.missed
    assert not found["queue"].simulated.missed
    rates = {
        (point.axes["carrier"], point.axes["loss"]): point.mean("payload")
        for point in found["loss"].simulated.points
    }
    for carrier, loss in rates:
        if carrier == "udp":
            assert rates["tcp", loss] < 0.2 * rates["udp", loss]


def test_several_prague_flows_have_their_parts_in_a_queue_for_each_flow():
    paper = papers.find("pam2025-flows")
    batch = Batch(paper)
    where = {"flows": "1:2", "buffer": "1bdp", "queue": "FQ-CoDel"}
    simulated = batch.add(paper.figures()[0], 1, where=where)
    batch.run(jobs=1)
    (means,) = simulated.means().to_dict("records")
    assert means["prague"] == pytest.approx(means["classic"] / 2, rel=0.03)
    fits = {cell.compared.quantity: cell.fits for cell in simulated.judged}
    assert fits["prague"]
    assert fits["classic"]

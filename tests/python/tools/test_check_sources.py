# SPDX-License-Identifier: GPL-2.0-only
"""waf-config/check-sources.py: which citations it finds in a text."""

from __future__ import annotations

import pytest

from helpers import ROOT, load_script

check_sources = load_script(ROOT / "waf-config/check-sources.py")


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("RFC 9438", [("RFC 9438", "")]),
        ("(RFC 9438, section 4.3)", [("RFC 9438", "4.3")]),
        ("RFC 8985, 6.2: it", [("RFC 8985", "6.2")]),
        ("RFC 9000 §13.2.1", [("RFC 9000", "13.2.1")]),
        ("RFC 4254, sections 5 and 7.2", [("RFC 4254", "5"), ("RFC 4254", "7.2")]),
        ("RFC 9002, section 6 and appendix A", [("RFC 9002", "6"), ("RFC 9002", "A")]),
        (" * (RFC 8289,\n * section 5)", [("RFC 8289", "5")]),
        ("RFC 791, 20 bytes", [("RFC 791", "")]),
        ("by the RFC 578 ms", []),
        ("draft-cheng-iccrg-delivery-rate-estimation-02", [
            ("draft-cheng-iccrg-delivery-rate-estimation-02", "")
        ]),
        ("Linux `tcp_rcv_space_adjust()`", [("Linux", "tcp_rcv_space_adjust")]),
        ("socket.tcp_like() and plot_run()", []),
    ],
)  # fmt: skip
def test_a_citation_is_found(text, cited):
    assert [(document, section) for _, document, section in check_sources.citations(text)] == cited

# SPDX-License-Identifier: GPL-2.0-only
"""A segment more or less each window, by whether the RTT is below 5/4 of the least one."""

import tunnelcc as tc


class Delay(tc.CongestionControl):
    def on_start(self, state):
        self._rtt = 0
        self._count = 0

    def on_ack(self, state, ack):
        if ack.rtt > 0:
            self._rtt = round(ack.rtt * 1e6)
        self._count += ack.acked
        if self._count < state.cwnd:
            return
        self._count = 0
        if 4 * self._rtt < 5 * round(state.min_rtt * 1e6):
            state.cwnd += 1
        else:
            state.cwnd = max(state.cwnd - 1, 2)

    def on_loss(self, state):
        state.cwnd = state.cwnd // 2

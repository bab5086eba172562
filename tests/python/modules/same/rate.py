# SPDX-License-Identifier: GPL-2.0-only
"""Paces: 1/16 faster after each round trip without loss, 1/8 slower after one with."""

import tunnelcc as tc


class Rate(tc.CongestionControl):
    owns_window = True

    def on_start(self, state):
        self._rate = 500  # segments/s
        self._losses = 0
        self._set(state)

    def on_ack(self, state, ack):
        self._losses += ack.lost
        if ack.is_new_round:
            if self._losses:
                self._rate = max(self._rate - self._rate // 8, 50)
            else:
                self._rate += self._rate // 16
            self._losses = 0
        self._set(state)

    def _set(self, state):
        state.cwnd = max(self._rate * round(state.min_rtt * 1e6) * 2 // 10**6, 4)
        state.pacing_rate = self._rate * state.mss * 8

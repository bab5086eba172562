# SPDX-License-Identifier: GPL-2.0-only
"""Adds ``step`` segments a round trip, and keeps kept/1024 of its window after a loss."""

import tunnelcc as tc


class Aimd(tc.CongestionControl):
    step = 2
    kept = 768

    def __init__(self):
        self._count = 0

    def on_ack(self, state, ack):
        if not state.is_cwnd_limited:
            return
        left = state.slow_start(ack.acked) if state.in_slow_start else ack.acked
        if left > 0:
            self._grow(state, max(state.cwnd // self.step, 1), left)

    def on_loss(self, state):
        self._count = 0
        state.cwnd = state.cwnd * self.kept // 1024

    def _grow(self, state, per_segment, acked):
        """Linux tcp_cong_avoid_ai()"""
        if self._count >= per_segment:
            self._count = 0
            state.cwnd += 1
        self._count += acked
        if self._count >= per_segment:
            steps = self._count // per_segment
            self._count -= steps * per_segment
            state.cwnd += steps

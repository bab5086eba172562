# SPDX-License-Identifier: GPL-2.0-only
"""Commands with many simulations: what they keep when a signal ends them."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tunnelcc.errors import TunnelccError

_KEPT = "finished runs are kept; repeat the command to continue"


class SignalError(TunnelccError):
    """A signal ended the command."""

    def __init__(self, signal_: int) -> None:
        super().__init__(f"{'interrupted' if signal_ == signal.SIGINT else 'terminated'}; {_KEPT}")
        self.exit_code = 128 + signal_


class _Signal(BaseException):
    """This is not an Exception, like KeyboardInterrupt: few handlers catch it."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn SIGINT and SIGTERM into SignalError, after running work is stopped."""

    received: list[int] = []

    def stop(signal_: int, frame: FrameType | None) -> None:
        received.append(signal_)
        raise _Signal(signal_)

    before = {name: signal.signal(name, stop) for name in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except BaseException:
        if not received:
            raise
    finally:
        for name, handler in before.items():
            signal.signal(name, handler)
    # Whatever became of the exception: a library may wrap or swallow it.
    if received:
        raise SignalError(received[0])

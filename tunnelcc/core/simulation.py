# SPDX-License-Identifier: GPL-2.0-only
"""One simulation by the models, and its errors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from tunnelcc import core
from tunnelcc.errors import RunError


def simulate(
    spec: str,
    report: Callable[[float], None],
    capture: Any = None,
    classes: Mapping[str, Any] | None = None,
    *,
    as_bytes: bool = False,
) -> Mapping[str, Any]:
    """Return what was measured: name → array; ``as_bytes``: name → (shape, bytes of doubles).

    Raises RunError, and what ``report`` raises.
    """
    raised: list[BaseException] = []

    def tell(seconds: float) -> None:
        try:
            report(seconds)
        except BaseException as error:
            raised.append(error)
            raise

    more = (True,) if as_bytes else ()  # of the native engine alone
    try:
        measured: Mapping[str, Any] = core.load().run(spec, tell, capture, classes or {}, *more)
        return measured
    except (TypeError, ValueError) as error:
        if raised:
            raise  # of ``progress``
        # The package writes what its own version of the module reads. A TypeError names the types
        # of arguments, which users of the package do not see.
        why = f" ({error})" if isinstance(error, ValueError) else ""
        raise RunError(
            f"the compiled module refuses the experiment{why}: is it of another version? "
            "`make setup` in the clone, or `pip install .`, builds it again"
        ) from error
    except RuntimeError as error:
        if raised:
            raise
        if isinstance(error, core.load().ModuleError):
            raise RunError(str(error)) from None
        raise RunError(f"the simulator failed: {error}") from error
    except MemoryError:
        raise RunError("the simulator failed: not enough memory") from None

# SPDX-License-Identifier: GPL-2.0-only
"""A congestion control and its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import ValidationInfo, model_serializer, model_validator

from tunnelcc import core, modules
from tunnelcc.core.parameters import expected, parse_parameter
from tunnelcc.errors import MISSING, ConfigError, Problem, nearest
from tunnelcc.modules import trust
from tunnelcc.schema import Field, Model, Table, is_parsed
from tunnelcc.schema.units import UnitError


class CongestionControl(Model):
    """A congestion control: its name, and the parameters that differ from their defaults.

    Write the name alone (``"bbr"``) or a table: ``{ name = "bbr", probe_rtt_interval = "5s" }``.
    The path of a file names a congestion control of your own: a module of Linux in C, or a class in
    C++ or Python (``"./mine.py"``). In Python, the class is a name, too.

        >>> tc.Flow(cc={"name": "cubic", "beta": 0.8}).cc.name
        'cubic'
    """

    IS_ONE_KEY: ClassVar[bool] = True

    name: str
    parameters: dict[str, core.ParameterValue] = Field(default_factory=dict)
    code: str = ""  # of a file: hash of what it held when it was compiled

    @model_validator(mode="before")
    @classmethod
    def _read(cls, data: Any, info: ValidationInfo) -> Any:
        if isinstance(data, str):
            data = {"name": data}
        elif modules.is_own(data):
            data = modules.table_of(data)
        if not isinstance(data, dict):
            raise ConfigError(Problem("", data, "the name of a congestion control, such as 'bbr'"))
        table = dict(data)
        if "name" not in table:
            expected = "the name of the congestion control that has these parameters"
            raise ConfigError(Problem("name", MISSING, expected))
        name = table.pop("name")
        if modules.is_own(name):
            own = modules.table_of(name)
            name, table = own.pop("name"), {**own, **table}
        if isinstance(name, str):
            name = core.congestion_name(name)
        parameters = table.pop("parameters", {})
        if not isinstance(parameters, dict):
            raise ConfigError(
                Problem("parameters", parameters, "a table of numbers, switches and names")
            )
        parameters = {**parameters, **table}
        if isinstance(name, str) and modules.is_file(name):
            return _of_file(name, parameters, is_asked=not is_parsed(info))
        if not isinstance(name, str) or not core.has_congestion_control(name):
            names = (*core.congestion_controls(), *core.ns3_congestion_controls())
            ours = ", ".join(core.congestion_controls())
            expected = f"one of {ours}, an ns-3 TypeId, or the path of a file"
            hint = nearest(name, names) if isinstance(name, str) else ""
            if isinstance(name, str) and name.startswith("ns3::"):
                hint = core.native_only() or hint
            raise ConfigError(Problem("", name, expected, hint))
        known = core.congestion_parameters(name)
        return {"name": name, "parameters": _read_parameters(name, known, parameters)}

    @model_serializer
    def _write(self) -> Any:
        if self.code:
            return {"name": self.name, "code": self.code, **self.parameters}
        return {"name": self.name, **self.parameters} if self.parameters else self.name

    @property
    def needs_ecn(self) -> bool:
        """Whether it does nothing without ECN marks."""
        module = modules.known(self.code) if self.code else None
        return module.needs_ecn if module else core.needs_ecn(self.name)


if TYPE_CHECKING:
    from tunnelcc.modules.own import CongestionControl as Own

    #: What a congestion control is given as: also its name, a table, or one of your own.
    GivenAlgorithm = CongestionControl | str | Table | Own | type[Own]
else:
    GivenAlgorithm = Any


def _of_file(name: str, parameters: dict[str, Any], *, is_asked: bool) -> dict[str, Any]:
    """Return the values for a file, which is compiled unless ``code`` tells what it was.

    A stored run has that; then the file is not read, and may be gone. ``is_asked``: the user's
    Python names it. Without that or another agreement it is a mere name, which cannot run.
    """
    code = parameters.pop("code", "")
    if code:
        module = modules.known(code)
    else:
        module = (modules.of if is_asked or trust.is_named(name) else modules.find)(name)
    if module is None:
        values = {key: value for key, value in parameters.items() if _is_value(value)}
        return {"name": name, "parameters": values, "code": code}
    values = _read_parameters(core.congestion_label(name), module.parameters, parameters)
    return {"name": module.name, "parameters": values, "code": module.code}


def _is_value(value: object) -> bool:
    return isinstance(value, (bool, int, float, str))


def _read_parameters(
    name: str, parameters_of: Sequence[core.Parameter], parameters: dict[str, Any]
) -> dict[str, core.ParameterValue]:
    known = {parameter.name: parameter for parameter in parameters_of}
    values: dict[str, core.ParameterValue] = {}
    for key, value in parameters.items():
        if key not in known:
            text = f"a parameter of {name}: " + (", ".join(known) or "it has none")
            raise ConfigError(Problem(key, value, text, nearest(key, known)))
        try:
            values[key] = parse_parameter(known[key], value)
        except UnitError as error:
            raise ConfigError(Problem(key, value, error.expected, error.hint)) from None
    for parameter in known.values():
        if parameter.is_required and parameter.name not in values:
            text = f"{expected(parameter)} ({parameter.doc}); {name} has no default for it"
            raise ConfigError(Problem(parameter.name, MISSING, text))
    return values

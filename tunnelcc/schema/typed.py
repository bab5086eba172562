# SPDX-License-Identifier: GPL-2.0-only
"""What type checkers know of keys, without a plug-in: what is given, and what is read.

PEP 681 lets a checker derive a model's constructor. A key whose argument has another type than its
attribute (``"100Mbps"``, then 1e8) is to a checker a descriptor: the argument is what ``__set__``
takes. pydantic sees the attribute's type alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

#: A table of keys, in place of its model.
Table = Mapping[str, Any]

if TYPE_CHECKING:
    Read = TypeVar("Read", covariant=True)
    Given = TypeVar("Given", contravariant=True)

    class Key(Generic[Read, Given]):
        """A key that reads as one type and is given as another one: ``Key[float, str]``."""

        def __get__(self, instance: object, owner: Any) -> Read: ...
        def __set__(self, instance: Any, value: Given) -> None: ...

    def Field(  # noqa: N802  # pydantic's, whose type would be that of its default
        *,
        default: Any = ...,
        default_factory: Any = ...,
        validation_alias: str = ...,
        serialization_alias: str = ...,
        description: str = ...,
    ) -> Any: ...

else:
    from pydantic import Field as Field

    class Key:
        """A key that reads as one type and is given as another one: ``Key[float, str]``."""

        def __class_getitem__(cls, types: tuple[Any, Any]) -> Any:
            return types[0]

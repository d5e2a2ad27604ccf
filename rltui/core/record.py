"""Records: the kinds of data classes that there are here, all with slots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform

    T = TypeVar("T")

    @dataclass_transform(frozen_default=True, field_specifiers=(field,))
    def record(cls: type[T]) -> type[T]:
        """Make a record of a class: frozen, and equal to another of the same values."""
        return cls

    @dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
    def entity(cls: type[T]) -> type[T]:
        """Make a frozen record of a class that is equal to itself alone."""
        return cls

    @dataclass_transform(field_specifiers=(field,))
    def state(cls: type[T]) -> type[T]:
        """Make a record of a class whose values may change."""
        return cls
else:
    record = dataclass(frozen=True, slots=True)
    entity = dataclass(frozen=True, slots=True, eq=False)
    state = dataclass(slots=True)

"""Rows are believed by their form: two with the same names and different steps.

What is printed once, or again with the same counter, as settings are, is no row.
"""

from __future__ import annotations

from typing import NamedTuple

#: Forms that are remembered; of those that wait for a second row the oldest goes first.
_MAX_FORMS = 4096
#: Rows of one step that wait for one of a later step.
_MAX_WAITING = 8


#: The names of a row, and what else distinguishes forms.
Form = tuple[bytes | int, ...]


class Waiting(NamedTuple):
    """A row whose form was not believed yet."""

    step: int
    values: list[float]
    wall: float
    total: int | None
    names: tuple[bytes, ...] = ()
    """Of the values, where they are not those of the form."""


class RowForms:
    """The forms of a log, by the names of their rows."""

    def __init__(self) -> None:
        self._forms: dict[Form, list[Waiting] | None] = {}
        """Names of a row -> rows that wait; None: believed; empty: not read."""
        self._own: set[Form] = set()

    def has_own_steps(self, form: Form) -> bool:
        """Whether the form was believed by counters of its own."""
        return form in self._own

    def add(
        self, form: Form, row: Waiting, *, own: bool = True, once: bool = False
    ) -> list[Waiting]:
        """Add a row; returns the rows that are now believed. ``own``: the step is its own, not
        that of another row; ``once``: a form with many rows of one step is not read."""
        if form not in self._forms:
            if len(self._forms) >= _MAX_FORMS:
                waits = (known for known, rows in self._forms.items() if rows is not None)
                del self._forms[next(waits, next(iter(self._forms)))]
            self._forms[form] = [row]
            return []
        waiting = self._forms[form]
        if waiting is None:
            return [row]
        if not waiting:
            return []
        if row.step < waiting[0].step:
            self._forms[form] = [row]
        elif row.step > waiting[0].step:
            self._forms[form] = None
            if own:
                self._own.add(form)
            return [*waiting, row]
        elif once:
            waiting.clear()
        elif len(waiting) < _MAX_WAITING:
            waiting.append(row)
        return []

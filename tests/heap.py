"""What the garbage collector looks through in a process that holds all tests."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from unittest.mock import patch

_FREEZE, _UNFREEZE = gc.freeze, gc.unfreeze
#: Tests after which what is left is set aside: they leave some ten thousand objects.
_TESTS = 100
_ended = count(1)


def set_aside() -> None:
    """From now on the collector leaves alone what there is."""
    gc.collect()
    _FREEZE()


def test_ended() -> None:
    """Now and then what tests left is set aside, too."""
    if next(_ended) % _TESTS == 0:
        set_aside()


@contextmanager
def commands_change_nothing() -> Iterator[None]:
    """``gc.freeze`` and ``gc.unfreeze`` do nothing."""
    with patch.object(gc, "freeze", _nothing), patch.object(gc, "unfreeze", _nothing):
        yield


@contextmanager
def commands_change_it() -> Iterator[None]:
    """``gc.freeze`` and ``gc.unfreeze`` do what they do outside of tests."""
    try:
        with patch.object(gc, "freeze", _FREEZE), patch.object(gc, "unfreeze", _UNFREEZE):
            yield
    finally:
        _UNFREEZE()
        set_aside()


def _nothing() -> None:
    pass

"""``python -m rltui``, and what the command ``rltui`` calls."""

from __future__ import annotations

import gc
import signal
import sys
import warnings

_AS_PROGRAM = __name__ == "__main__" or sys.argv[0].endswith("rltui")
if _AS_PROGRAM and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    # until the program can answer Ctrl+C itself, that ends it without a traceback
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def main() -> int:
    """Run the command line."""
    from rltui.cli import main as run  # imported when it is used

    if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if not sys.warnoptions:  # logs hold numbers of any size: that one overflows helps no user
        warnings.simplefilter("ignore", RuntimeWarning)
    try:
        return run()
    except KeyboardInterrupt:
        return 130
    finally:
        gc.freeze()  # the process ends: the collector need not scan what is left


if __name__ == "__main__":
    sys.exit(main())

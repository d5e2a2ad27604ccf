"""``python -m rltui``."""

from __future__ import annotations

import sys

from rltui.cli import main

if __name__ == "__main__":
    sys.exit(main())

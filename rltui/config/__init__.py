"""User settings: one frozen record per section, flags over environment over file.

Names of metrics, rules, actions and themes are checked by the packages that own them, with the
document nodes that are kept here for error messages. Reads no dialect, rule or theme itself and
writes no file but for :mod:`~rltui.config.edit`.

Precedence, highest first: flags of the command line, environment (``RLTUI_SECTION_KEY``,
for example ``RLTUI_VIEW_THEME``), the file, the defaults.
"""

from rltui.config.load import config_dirs, config_path, load_config
from rltui.config.records import (
    Config,
    ConfigDirs,
    HooksConfig,
    MetricOverride,
    RulesConfig,
    ViewConfig,
    WatchConfig,
)

__all__ = [
    "Config",
    "ConfigDirs",
    "HooksConfig",
    "MetricOverride",
    "RulesConfig",
    "ViewConfig",
    "WatchConfig",
    "config_dirs",
    "config_path",
    "load_config",
]

"""Logdirs on other hosts, by the system's ssh: see ``docs/remote.md``."""

"""Growing files as appended bytes, on disk and on servers: tail, identity, kind of file system.

Knows no log format.
"""

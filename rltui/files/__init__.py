"""Growing files on disk as appended bytes: tail, identity of a file, kind of file system.

Knows no log format.
"""

"""Files on servers and in buckets, read through fsspec for :mod:`rltui.files.disk`.

``store`` caches listings and ranges, ``server`` sends and counts requests, ``tail`` follows one
file, ``errors`` converts errors and removes secrets from them.
"""

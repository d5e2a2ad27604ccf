"""Files on servers and in buckets, by way of fsspec: what :mod:`rltui.files.disk` asks for.

``store`` answers from listings and ranges, ``server`` asks fsspec and counts, ``tail`` follows one
file, ``errors`` says what went wrong without secrets.
"""

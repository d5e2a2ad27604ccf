"""Files on servers and in buckets, by way of fsspec: what :mod:`rltui.files.disk` asks for.

``stores`` chooses the store of a path, ``store`` answers from listings and ranges, ``server`` asks
fsspec and counts, ``tail`` follows one file, ``errors`` says what went wrong without secrets.
"""

"""Judges runs by rules that are written in YAML. No metric name and no threshold in code.

``data/rules/*.yaml`` hold the rules, ``rules.load_rules`` reads them; detectors are pure functions
in ``detectors``; ``engine.Engine`` runs them and returns a :class:`~rltui.health.model.Report`.
"""

"""How right the verdicts are: ``python -m benchmarks.verdicts [LABELS...]``.

``labels`` reads what people decided about runs, ``replay`` judges logged runs as they are, in
part, thinned and with noise, ``score`` compares both, ``figures`` adds up, ``__main__`` prints the
tables, ``across`` those by origin, ``noise`` those of each rule, ``failures_2026`` those of made
runs with known failures.
"""

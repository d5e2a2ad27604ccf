"""Benchmarks of rltui against its goals and its peers; run from a checkout, not installed.

``python -m benchmarks.read`` reads logs with rltui and its peers and prints a table of CPU time
and memory; ``python -m benchmarks.live`` drives ``rltui watch`` in a pseudo terminal and prints
latencies, idle and live CPU and bytes written; ``python -m benchmarks.many`` does so over 10,000
runs; ``python -m benchmarks.rules`` prints what each rule costs, and fails above its budget;
``python -m benchmarks.fuzz`` feeds damaged logs to every decoder, and ``python -m
benchmarks.fuzz_coverage`` follows the coverage of one;
``python -m benchmarks.hostile`` decodes what is made to be slow or large;
``python -m benchmarks.start`` counts the CPU of small commands; ``python -m benchmarks.against``
measures in turns with another commit, and says what is slower;
``python -m benchmarks.soak`` keeps ``rltui watch`` open for hours; ``python -m
benchmarks.vanish`` takes the terminal away from every verb.
``RESULTS.md`` holds what they printed last.
"""

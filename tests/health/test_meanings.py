"""What the meaning of a metric tells to watch for is watched."""

import re
from fnmatch import fnmatchcase

from rltui.catalogue import load_catalogue
from rltui.core.installation import shipped
from rltui.core.yaml_document import read_document
from rltui.health.rules import load_rules

METRICS = load_catalogue().metrics
#: Words for what goes wrong in time. A level, a cause or a good way to move is none.
SYMPTOM = r"explod|blow-up|spike|collapse|runs? away|endless climb|drift|saturat|over-estimat|jump"
ODD = read_document(shipped("health", "data", "odd.yaml")).table().need("odd").items()


def test_a_symptom_that_a_meaning_names_is_looked_for() -> None:
    read = [
        pattern
        for rule in load_rules()
        for variant in rule.variants
        if not variant.detector.finite_is_quiet and not variant.detector.reference
        for pattern in (*variant.metrics, *sum(variant.roles.values(), ()))
    ]
    read += [key.text() for odd in ODD for key in odd.table().need("metrics").items()]
    named = {
        key.rpartition(".")[0] if " of: " in metric.meaning else key
        for key, metric in METRICS.items()
        if re.search(SYMPTOM, metric.meaning) and metric.healthy is None
    }
    lost = {
        key
        for key in named
        if not any(fnmatchcase(key, p) or p.startswith(f"{key}.") for p in read)
    }
    assert not lost, "a rule, an entry of odd.yaml or a range looks for it, or it is not named"

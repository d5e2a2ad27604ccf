"""How long the samples of a step take to open: `python -m benchmarks.samples [TRAJECTORIES]`.

Writes rollouts of several turns as verl, verifiers' traces and TRL (Parquet) have them, about 4 kB
each, and reads a step as the samples screen does. CPU time, best of five.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from rltui.facts.samples import SampleBrowser
from tests.fakes import a_session, grpo_batch

WORDS = "the red jacket in size M is below forty dollars and the page lists item "
RESULT = "1. jacket, red, 39.90; 2. coat, blue, 55.00; 3. scarf, green, 12.50\n" * 8


def _messages(n: int) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"role": "user", "content": f"Find {n // 8} and buy it."}]
    for turn in range(4):
        call = {
            "id": f"c{turn}",
            "name": "search",
            "arguments": json.dumps({"query": f"{n} {turn}"}),
        }
        said = " ".join(f"{WORDS}{n + word}" for word in range(5))
        found.append({"role": "assistant", "content": said, "tool_calls": [call]})
        found.append({"role": "tool", "content": RESULT, "tool_call_id": f"c{turn}"})
    return [*found, {"role": "assistant", "content": f"<answer>bought {n}</answer>"}]


def _verl(n: int) -> dict[str, Any]:
    chat = _messages(n)
    spoken = "".join(
        f"{m['content']}<tool_call>{json.dumps(m['tool_calls'][0])}</tool_call>\n"
        if m.get("tool_calls")
        else f"user\n<tool_response>{m['content']}</tool_response>\nassistant\n"
        for m in chat[1:-1]
    )
    score = {"score": n % 7 / 7, "acc": float(n % 7 > 3), "format": 0.2, "num_turns": 5}
    return {"input": f"user\n{chat[0]['content']}", "output": spoken + chat[-1]["content"], **score}


def _trace(n: int) -> dict[str, Any]:
    chat = _messages(n)
    nodes = [{"message": m, "parent": at - 1 if at else None} for at, m in enumerate(chat)]
    rewards = {
        "correct": {"score": n % 7 / 7, "weight": 1.0},
        "format": {"score": 1.0, "weight": 0.2},
    }
    return {"id": str(n), "nodes": nodes, "calls": [], "rewards": rewards, "stop_condition": "done"}


def write_jsonl(row: Callable[[int], dict[str, Any]], root: Path, count: int) -> None:
    """Two steps, as verl names them."""
    (root / "rollouts").mkdir()
    for step in (1, 2):
        text = "".join(json.dumps(row(n)) + "\n" for n in range(count))
        (root / "rollouts" / f"{step}.jsonl").write_text(text, encoding="utf-8")


def write_parquet(root: Path, count: int) -> None:
    """One step, as TRL names it."""
    from pyarrow import Table
    from pyarrow.parquet import write_table

    (root / "completions").mkdir()
    chats = [_messages(n) for n in range(count)]
    columns = {
        "step": [1] * count,
        "prompt": [c[:1] for c in chats],
        "completion": [c[1:] for c in chats],
    }
    rewards = {"accuracy_reward": [n % 2 * 1.0 for n in range(count)], "advantage": [0.0] * count}
    write_table(
        Table.from_pydict({**columns, **rewards}),
        root / "completions" / "completions_00001.parquet",
    )


def open_step(root: Path) -> tuple[float, float, int]:
    """CPU milliseconds until there is a list, and until it is whole; and how many there are."""
    (run,) = a_session(grpo_batch(3)).runs()
    browser, began, first = SampleBrowser(run, lambda: root, None), time.process_time(), 0.0
    while (read := browser.request(None, 0.0)) is not None:
        read()()
        if browser.rows and not first:
            first = (time.process_time() - began) * 1e3
    return (time.process_time() - began) * 1e3, first, len(browser.rows)


def measured(count: int) -> Iterator[str]:
    """One line for each format."""
    for name, write in {
        "verl": lambda root: write_jsonl(_verl, root, count),
        "verifiers": lambda root: write_jsonl(_trace, root, count),
        "TRL, Parquet": lambda root: write_parquet(root, count),
    }.items():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            write(root)
            size = max(p.stat().st_size for p in root.rglob("*.*"))
            best, first, rows = min(open_step(root) for _ in range(5))
            times = f"a list after {first:.0f} ms, whole after {best:.0f} ms"
            yield f"{name:14}{rows:>7,} trajectories, {size / 1e6:.1f} MB: {times}"


if __name__ == "__main__":
    for line in measured(int(sys.argv[1]) if len(sys.argv) > 1 else 4096):
        sys.stdout.write(f"{line}\n")

"""Logs that try to control the terminal, at every place from which rltui shows a text."""

import json
import os
from pathlib import Path

from tests.formats.encode import event, header, simple, text
from tests.formats.encode_tracker import config, full_row, output, run, wandb_log
from tests.trackers.store import TrackioDatabase

#: What is tried: control sequences (of modes and styles that rltui never uses), strings, C1
#: controls, reordering, invisible characters, markup, characters without end.
PAYLOADS = (
    "\x1b[5;8mblink\x1b[0m",
    "\x1b[?1047h\x1b[2;5r\x1b[999;999Hmoved",
    "\x1b]0;title\x07",
    "\x1b]8;;http://evil.example\x1b\\link\x1b]8;;\x1b\\",
    "\x1b]52;c;ZXZpbA==\x07\x1b]52;c;?\x07",
    "\x1bP+q544e\x1b\\\x1b_apc\x1b\\\x1b^pm\x1b\\\x1bXsos\x1b\\",
    "\x9b5mcsi\x9d0;osc\x9c\x90dcs\x9c\x84\x85",
    "\u202eesrever\u202c\u2066isolate\u2069\u200e\u061c",
    "zero\u200bwidth\u200d\ufeff\u00ad\u2060\u180e",
    "a\nb\rc\td\0e\x08f\x7f\x0e\x0f\x05",
    "line\u2028separator\u2029",
    "private\ue000\U000f0000 nothing\u0378",
    "[red]markup[/red] [@click=app.quit]x[/] \\[",
    "family \U0001f468\u200d\U0001f469\u200d\U0001f467 z" + "\u0301" * 300,
    "\x1bc\x1b(0\x1b#8\x1b=\x1b>\x1bD\x1bM",
    "{x!r} %s %(x)s ${HOME}",
)
LONG = "l\x1b[5mng" * 1_500
_NOT_UTF8 = b"\xff\xfe\xc3(\xed\xa0\x80"


def every_payload() -> str:
    """All of them in one text."""
    return "|".join(PAYLOADS)


def file_name(number: int) -> str:
    """A payload as a name that a file system takes."""
    return PAYLOADS[number % len(PAYLOADS)].replace("/", "").replace("\0", "")[:60]


def write_corpus(logdir: Path) -> None:
    """Runs of every kind."""
    for number, write in enumerate(
        (_events, _jsonl, _csv, _console, _wandb, _dying, _verl), start=1
    ):
        home = logdir / f"{number}{file_name(number)}"
        home.mkdir(parents=True)
        write(home)
    odd = os.fsencode(logdir) + b"/8" + _NOT_UTF8
    os.mkdir(odd)  # noqa: PTH102 - a Path holds no bytes
    _jsonl(Path(os.fsdecode(odd)))
    _trackio(logdir / f"trackio{file_name(1)}")


def _events(home: Path) -> None:
    tags = (*PAYLOADS, LONG)
    rows = [
        event(s, 1.7e9 + s, *[simple(t.encode(), float(s + n)) for n, t in enumerate(tags)])
        for s in range(1, 30)
    ]
    texts = [event(n, 1.7e9 + n, text(t.encode(), t.encode())) for n, t in enumerate(tags, 1)]
    broken = event(30, 1.7e9 + 30, simple(_NOT_UTF8, 1.0), text(b"raw", _NOT_UTF8))
    (home / "events.out.tfevents.1700000000.h\x1b[5m").write_bytes(
        header() + b"".join((*rows, *texts)) + broken + b"\x1b[5m" * 20
    )
    _beside(home)


def _rows(count: int = 30) -> list[dict[str, object]]:
    tags = dict.fromkeys((*PAYLOADS, LONG), 0.5)
    known = ("loss", "actor/entropy", "actor/grad_norm", "critic/score/mean", "kl")
    found: list[dict[str, object]] = []
    for step in range(1, count + 1):
        values = {**tags, **{t: 1.0 / step if step < count else float("nan") for t in known}}
        found.append({"step": step, **values})
    return found


def _jsonl(home: Path) -> None:
    lines = [json.dumps(r) for r in _rows()]
    lines.insert(3, '{"step": 3, "\x1b[5mbroken')
    (home / f"{file_name(4)}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    _beside(home)


def _csv(home: Path) -> None:
    harmful = [p for p in PAYLOADS if not set('",\n\r\0') & set(p)]
    names = ["step", "loss", *harmful]
    rows = [",".join([str(s), *["0.5"] * (len(names) - 1)]) for s in range(20)]
    document = "\n".join([",".join(names), *rows]) + "\n"
    (home / "progress.csv").write_text(document, encoding="utf-8", newline="")


def _line(step: int) -> str:
    tags = " - ".join(f"{p}/x:0.5" for p in PAYLOADS[:5])
    return f"step:{step} - actor/entropy:0.5 - critic/score/mean:0.{step % 10} - {tags}"


def _console(home: Path) -> None:
    settings = "".join(f"{p!r}: {p!r},\n" for p in PAYLOADS)
    lines = [f"{{'trainer': {{\n{settings}}}}}", *PAYLOADS, *(_line(s) for s in range(1, 30))]
    (home / "train.log").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _dying(home: Path) -> None:
    frames = "".join(f'  File "{p}", line 1, in {p}\n' for p in PAYLOADS)
    error = f"RuntimeError: {every_payload()}\n"
    lines = "\n".join(_line(s) for s in range(1, 30))
    head = "Traceback (most recent call last):\n"
    (home / "train.log").write_bytes(f"{lines}\n{head}{frames}{error}".encode() + _NOT_UTF8 + b"\n")


def _wandb(home: Path) -> None:
    rows = [full_row(s, 1.75e9 + s, dict.fromkeys(PAYLOADS, 0.5)) for s in range(20)]
    named = run(every_payload(), 1.75e9)
    settings = config({p: p for p in PAYLOADS})
    (home / "run-abc123.wandb").write_bytes(
        wandb_log(named, settings, *rows, output(every_payload() + "\n"))
    )


def _verl(home: Path) -> None:
    rows = [{"step": r["step"], "data": r} for r in _rows()]
    (home / "metrics.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    _beside(home)


def _trackio(home: Path) -> None:
    home.mkdir(parents=True)
    store = TrackioDatabase(home)
    for number, payload in enumerate(PAYLOADS[:6]):
        name = f"{number}{payload}"
        store.log(name, [(s, {payload: 0.5, "loss": 1.0}) for s in range(1, 20)])
        store.configure(name, {p: p for p in PAYLOADS})


def _beside(home: Path) -> None:
    """Settings and samples beside a log."""
    settings = {p: p for p in PAYLOADS}
    (home / "config.json").write_text(json.dumps({**settings, "lr": 1e-6}), encoding="utf-8")
    samples = home / f"completions{file_name(1)}"
    samples.mkdir()
    for step in (10, 20):
        rows = [
            {"input": p, "output": every_payload(), "score": n, "step": step, p: p}
            for n, p in enumerate(PAYLOADS)
        ]
        document = "".join(json.dumps(r) + "\n" for r in rows)
        (samples / f"{step}.jsonl").write_text(document, encoding="utf-8")

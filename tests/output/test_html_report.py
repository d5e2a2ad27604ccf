"""The report: valid, self-contained HTML in which a log is only ever text."""

from __future__ import annotations

import base64
import hashlib
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rltui.core.errors import UsageError
from rltui.output.html_report import html_report
from rltui.session import Session
from tests.blocks import make_block
from tests.builders import START, a_batch, steps
from tests.commands.conftest import Cli, bad_logs, cli, well, write_jsonl
from tests.fakes import a_session, grpo_batch, grpo_clock, grpo_tags
from tests.hostile import PAYLOADS, write_corpus

__all__ = ["bad_logs", "cli", "well"]  # fixtures
#: Elements without an end.
_VOID = {"meta"}
_ELEMENTS = {
    *("html", "head", "meta", "title", "style", "body", "main", "header", "footer", "article"),
    *("section", "h1", "h2", "h3", "h4", "p", "b", "a", "ul", "li", "dl", "dt", "dd", "table"),
    *("thead", "tbody", "tr", "th", "td", "div", "span", "code", "pre", "details", "summary"),
    *("figure", "figcaption", "svg", "desc", "text", "path", "rect", "circle"),
}
_CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")


class Page(HTMLParser):
    """A document that nests rightly, and has only the elements of a report."""

    def __init__(self, document: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []
        """The element in which a text is, and the text."""
        self.feed(document)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _ELEMENTS
        assert len(attrs) == len(dict(attrs))
        self.elements.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in ("path", "rect", "circle")  # of SVG
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if data.strip():
            self.texts.append((self.open[-1], data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def said(self, *tags: str) -> str:
        return "\n".join(text for tag, text in self.texts if not tags or tag in tags)


def checked(document: str) -> Page:
    """The page of a document that is sound and refers to nothing outside of it."""
    page = Page(document)
    ids = [a["id"] for _, a in page.elements if "id" in a]
    assert len(ids) == len(set(ids))
    for _, attributes in page.elements:
        for name, value in attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcset", "xlink:href", "background", "action")
            if name == "href":
                assert value in [f"#{x}" for x in ids]
            if name == "aria-labelledby":
                assert set((value or "").split()) <= set(ids)
    assert "url(" not in document
    assert "@import" not in document
    levels = [int(name[1]) for name, _ in page.elements if re.fullmatch(r"h\d", name)]
    assert levels.count(1) == 1
    assert all(b - a <= 1 for a, b in zip([0, *levels], levels, strict=False))
    assert all("scope" in a for a in page.all("th"))
    return page


def grpo(**changes: object) -> Session:
    return a_session(grpo_batch(60, **changes), clock=grpo_clock())  # type: ignore[arg-type]


def test_a_sick_run_is_told_from_its_verdict_to_its_settings() -> None:
    batch = grpo_batch(60, total=100)
    page = checked(html_report(a_session(batch, clock=grpo_clock())))
    titles = [text.strip() for tag, text in page.texts if tag in ("h1", "h2")]
    assert titles[0] == "grpo"
    assert titles[-3:] == ["Not judged", "Settings", "Environment"]
    assert titles.index("Overview") < titles.index("Critic") < titles.index("Timing")
    assert "entropy collapse, since 4" in page.said("li")
    assert "next step" in page.said("dt")
    assert "moved first" in page.said("dt")
    assert "total_training_steps" in page.said("dt")
    # the charts of the story come first, each with its unit, onset and limit
    assert page.said("code").splitlines()[0] == "actor/entropy"
    first = page.said("desc").splitlines()[0]
    assert first.startswith("entropy (actor/entropy), newest ")
    assert "bad step 4" in first
    drawn = [text for tag, text in page.texts if tag == "text"]
    assert "nats" in drawn
    assert any(re.fullmatch(r"▼ 4\d", text) for text in drawn)
    assert any(text.startswith("watch < ") for text in drawn)
    assert any(a.get("class") == "e bad" for a in page.all("rect"))


def test_what_looks_odd_stands_before_the_charts_with_its_reason() -> None:
    tags = grpo_tags(60)
    tags["actor/kl_loss"] = [0.002 * n for n in range(60)]
    page = checked(html_report(a_session(a_batch(steps(1, tags)), clock=grpo_clock())))
    titles = [text.strip() for tag, text in page.texts if tag == "h2"]
    assert titles.index("Unusual") < titles.index("Overview")
    told = "KL to reference 0.004 → 0.114 (it starts at 0 and grows as the policy learns)"
    assert told in page.said("li")


def test_several_runs_begin_with_a_table_the_worst_first() -> None:
    calm = grpo_batch(60, run="calm", collapse=None)
    page = checked(html_report(a_session(calm, grpo_batch(60, run="sick"), clock=grpo_clock())))
    assert page.said("h1") == "2 runs"
    assert page.said("a").splitlines() == ["sick", "calm"]
    assert [a["href"] for a in page.all("a")] == [f"#{a['id']}" for a in page.all("article")]
    assert "entropy" in page.said("td")


def test_the_policy_allows_the_style_sheet_and_nothing_else() -> None:
    document = html_report(grpo())
    style = document.partition("<style>")[2].partition("</style>")[0]
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    (policy,) = (
        a["content"]
        for a in Page(document).all("meta")
        if a.get("http-equiv") == "Content-Security-Policy"
    )
    assert policy.split("; ")[:2] == ["default-src 'none'", f"style-src 'sha256-{digest}'"]
    assert document.index("http-equiv") < document.index("<style>")


_NASTY = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        [*PAYLOADS, "</title><script>x</script>", '"><img src=x onerror=x>', "]]><svg/onload=x>"]
    ),
    st.text(st.sampled_from("<>\"'&;/=! -ax#\0"), max_size=30),
)


@settings(max_examples=25, deadline=None)
@given(_NASTY, _NASTY, _NASTY)
@example("", '"><b x', "")
def test_what_a_log_says_stays_text(tag: str, name: str, value: str) -> None:
    rows = {"actor/entropy": [2.0, 1.0, float("nan")], f"x{tag}": [1.0, 2.0, 3.0]}
    batch = a_batch(rows, run=f"r{value}".replace("\0", ""), hparams={f"n{name}": f"v{value}"})
    page = checked(html_report(a_session(batch)))
    assert {"svg", "dl", "table"} <= {name for name, _ in page.elements}
    assert not re.search("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]", page.said())


def test_hostile_logs_of_every_kind(cli: Cli, tmp_path: Path) -> None:
    write_corpus(tmp_path / "logs")
    target = tmp_path / "out.html"
    assert cli("report", tmp_path / "logs", "-o", target).code == 0
    page = checked(target.read_text(encoding="utf-8"))
    assert len(page.all("article")) > 5
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f]", target.read_text(encoding="utf-8"))


def test_secrets_are_left_out(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "logs"
    write_jsonl(home / "run.jsonl", {"actor/entropy": [2.0, 1.9, 1.8]})
    (home / "config.json").write_text(
        '{"lr": 1e-6, "wandb": {"api": {"key": "0123456789abcdef0123"}}, '
        '"env": {"HF_TOKEN": "hf_aaaaaaaaaaaaaaaa"}, "hub": "https://me:pw12345@hub.example/x"}'
    )
    (home / "wandb-metadata.json").write_text(
        '{"host": "node-7", "email": "me@a.example", "args": ["--password", "geheim77"], '
        '"git": {"commit": "abc123", "remote": "https://me:pw12345@git.example"}}'
    )
    text = cli("report", home).out
    for secret in ("0123456789abcdef", "hf_aaaa", "pw12345", "geheim77", "me@a.example"):
        assert secret not in text
    said = checked(text).said("dt", "dd")
    for told in ("1e-6", "***", "https://hub.example/x", "node-7", "abc123"):
        assert told in said


def test_no_folder_of_this_machine_is_told(cli: Cli, tmp_path: Path) -> None:
    home = tmp_path / "logs"
    write_jsonl(home / "seed1" / "run.jsonl", {"/actor/entropy": [2.0, 1.9, 1.8]})
    settings = f'{{"model_path": "{tmp_path}/models/qwen", "url": "https://hub.example/a/b/c"}}'
    (home / "seed1" / "config.json").write_text(settings)
    (home / "seed1" / "train.jsonl").write_bytes(b'{"step": 1, "loss"\n' * 9)

    text = cli("report", home).out

    assert str(tmp_path) not in text
    said = checked(text).said("dt", "dd", "code", "li")
    for told in ("logs/seed1", "…/qwen", "https://hub.example/a/b/c", "/actor/entropy"):
        assert told in said


def test_a_run_of_many_long_series_stays_small() -> None:
    rows, tags = 100_000, (*grpo_tags(1), *(f"group_{n // 9}/metric_{n}" for n in range(271)))
    noise = np.random.default_rng(1).normal(size=rows).astype(np.float32)
    values = np.lib.stride_tricks.as_strided(noise, (rows, len(tags)), (4, 0))
    block = make_block(tags, np.arange(rows), START + np.arange(rows), values)
    settings = {f"part_{n % 40}.name_{n}": "a value of some length" for n in range(900)}
    document = html_report(a_session(a_batch(block, hparams=settings)))
    assert 100_000 < len(document.encode()) <= 200_000
    assert len(checked(document).all("figure")) >= 12


def test_no_spike_is_lost_and_gaps_are_marked() -> None:
    values = [1.0] * 20_000
    values[7_777] = 50.0
    values[15_000:16_000] = [float("nan")] * 1_000
    page = checked(html_report(a_session(a_batch({"loss": values}))))
    line = next(a["d"] or "" for a in page.all("path") if a.get("class") in ("s", "s u"))
    parts = line.split("M")[1:]
    assert len(parts) == 2
    moves = [np.array(re.findall(r"-?\d+", part), dtype=int) for part in parts]
    spans = [np.ptp(np.add.accumulate(m[1::2])) for m in moves]
    assert spans[0] > 200
    assert spans[1] == 0
    assert ("text", "N") in page.texts


def test_restarts_and_what_they_superseded_are_drawn() -> None:
    first = a_batch({"loss": [3.0 - n / 20 for n in range(40)]})
    later = a_batch(steps(20, {"loss": [2.0] * 40}), source="events.1", order=1)
    looks = [a.get("class") for a in checked(html_report(a_session(first, later))).all("path")]
    assert looks.count("c") == 1
    assert looks.count("b") == 1


def test_a_report_is_written_whole_or_not_at_all(
    cli: Cli, bad_logs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "out.html"
    assert cli("report", bad_logs, "-o", target).code == 0
    before = target.read_bytes()
    assert before.endswith(b"</html>\n")

    def fails(session: Session) -> str:
        raise UsageError("no room")

    monkeypatch.setattr("rltui.output.html_report.html_report", fails)
    assert cli("report", bad_logs, "-o", target).code == 2
    assert target.read_bytes() == before
    assert not list(tmp_path.glob("*.part"))


def test_where_it_goes(
    cli: Cli, well: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert cli("report", well).out.startswith("<!DOCTYPE html>")
    result = cli("report", well, "-o", well / "out.html")
    assert (result.code, result.out) == (2, "")
    (tmp_path / "empty").mkdir()
    assert cli("report", tmp_path / "empty", "-o", tmp_path / "x.html").code == 3
    assert not (tmp_path / "x.html").exists()
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    result = cli("report", well)
    assert result.code == 2
    assert "-o FILE" in result.err


@contextmanager
def served(document: str) -> Iterator[tuple[str, list[str]]]:
    """A server on this machine that serves a document at every path; the paths that were asked
    for."""
    asked: list[str] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.end_headers()
            self.wfile.write(document.encode())

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/report", asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.skipif(_CHROMIUM is None, reason="chromium is not installed")
def test_a_browser_asks_for_nothing_and_runs_nothing(tmp_path: Path) -> None:
    """Even if a text became markup: here it does, by force."""
    attack = (
        "<script>document.title='ran'; fetch('/fetched')</script><img src=/img onerror=\""
        "document.title='ran'\"><iframe src=/frame></iframe><p style='background:url(/css)'>x</p>"
        "<link rel=stylesheet href=/sheet><form action=/form><input name=a></form>"
    )
    document = html_report(grpo())
    with served(document.replace("<main>", f"<main>{attack}")) as (address, asked):
        browser = [str(_CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu"]
        browser += ["--disable-background-networking", f"--user-data-dir={tmp_path}", "--dump-dom"]
        done = subprocess.run([*browser, address], capture_output=True, timeout=120, check=False)
    shown = done.stdout.decode()
    assert "<title>grpo · rltui report</title>" in shown
    assert shown.count("<figure>") == document.count("<figure>") > 5
    assert asked == ["/report"]

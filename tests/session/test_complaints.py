"""Errors and warnings of console logs: what counts as one, how they are put together, when."""

from rltui.core.batch import LogTail
from rltui.session.complaints import MOST_MESSAGES, ComplaintScan, Message, complaints, rank_of_file
from tests.tables import cases


def scanned(*lines: str, rank: str = "") -> list[Message]:
    scan = ComplaintScan()
    scan.scan("\n".join(lines).encode(), rank, None)
    return list(scan.messages.values())


@cases(__file__, "what_complains")
def test_what_complains(line: str, text: str, is_error: bool) -> None:
    (found,) = scanned(line)
    assert (found.text, found.is_error) == (text, is_error)


@cases(__file__, "what_does_not", "line")
def test_what_does_not(line: str) -> None:
    assert not scanned(line)


def test_numbers_are_masked_and_ranks_put_together() -> None:
    lines = [f"[rank{n}]: ERROR:root:loss {n}.5 at 09:00:0{n}" for n in (0, 1, 2, 9)]
    (found,) = scanned(*lines)
    assert (found.text, found.times, found.ranks) == ("loss # at #", 4, set("0129"))
    ray = "(WorkerDict pid=7, ip=10.0.0.1) WARNING: slow [repeated 3x across cluster]"
    (found,) = scanned(ray, ray.replace("=7", "=8"))
    assert (found.text, found.times, len(found.ranks)) == ("slow", 6, 2)


def test_the_steps_are_those_that_were_printed_before() -> None:
    lines = ["ERROR: a", "step:1 - x:0.5", "ERROR: a", "{'global_step': 7}", "ERROR: a",
             "max_step: 900", "timing_s/step:12", "ERROR: a"]  # fmt: skip
    (found,) = scanned(*lines)
    assert (found.first[0], found.last[0]) == (1, 7)
    bar = " 12%|█▏        | 12/100 [00:10<01:00, 1.2it/s]"
    (found,) = scanned(bar, "ERROR: b", "Map: 40%|██ | 400/1000 [00:01<00:01]", "ERROR: b")
    assert (found.first[0], found.last[0]) == (12, 12)


def test_the_step_is_kept_between_pieces_and_the_earliest_of_all_files_is_the_first() -> None:
    scan = ComplaintScan()
    step = scan.scan(b"step:9 - x:1\n", "0", None)
    scan.scan(b"ERROR: a\n", "0", step)
    scan.scan(b"step:4 - x:1\nERROR: a\n", "1", None)
    (found,) = scan.messages.values()
    assert (found.first[0], found.last[0], found.ranks) == (4, 9, {"0", "1"})


def test_hostile_text_stays_inert_and_memory_bounded() -> None:
    (found,) = scanned("ERROR: \x1b[31mred\x1b]0;title\x07 \u202e[bold]" + "x" * 5000)
    assert "\x1b" not in found.text
    assert "\u202e" not in found.text
    assert len(found.text) <= 300
    scan = ComplaintScan()
    names = [
        f"{a}{b}{c}" for a in "ghijklmnop" for b in "ghijklmnopqrstu" for c in "ghijklmnopqrstuvw"
    ]
    scan.scan("\n".join(f"ERROR: {n}" for n in names).encode(), "", None)
    assert len(scan.messages) == MOST_MESSAGES
    assert scan.lost.times == len(names) - MOST_MESSAGES


@cases(__file__, "logs_of_ranks")
def test_logs_of_ranks(path: str, rank: str | None) -> None:
    assert rank_of_file(path) == rank


def test_what_a_log_repeats_is_a_complaint() -> None:
    lines = [
        *(f"2025-06-23 18:40:0{n} - trainer - WARNING - ⚠️ Missing advantages for sample {n}"
          for n in range(5)),
        *["sd - ERROR - ❌ Image generation failed: Torch not compiled with CUDA enabled"] * 4,
        *["(Worker pid=7) WARNING 11-30 22:18:01 [loggers.py:12] the cache is full"] * 7,
        *["/opt/a.py:3: FutureWarning: use b"] * 9,
        *["/opt/a.py:4: UserWarning: KL is negative [repeated 3x across cluster]"] * 2,
        *["step 3 - Value Error: 0.5"] * 9,
        *["W: WARNING once"] * 3,
    ]  # fmt: skip
    cache, kl, advantages, driver = complaints(LogTail(tuple(lines), 0))
    assert cache == ("the cache is full", 7, "")
    assert kl == ("KL is negative", 6, "")
    assert advantages == ("Missing advantages for sample #", 5, "")
    assert (driver.text, driver.times) == (
        "Image generation failed: Torch not compiled with CUDA enabled", 4,
    )  # fmt: skip
    assert "CUDA_VISIBLE_DEVICES" in driver.advice

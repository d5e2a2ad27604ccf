"""What a training is doing between two rows, by the lines of its console."""

from rltui.core.batch import Phase
from rltui.formats.console.console_decoder import ConsoleDecoder
from rltui.formats.console.phase import PhaseSearch
from tests.tables import cases

ROW = b"step:12 - actor/entropy:0.5 - critic/score/mean:0.25 - timing_s/step:60.0\n"
PING = b'INFO:     10.0.0.11:51%03d - "GET /health HTTP/1.1" 200 OK\n'


@cases(__file__, "a_line_says_what_goes_on")
def test_a_line_says_what_goes_on(line: str, words: str | None) -> None:
    search = PhaseSearch()
    search.feed(line.encode() + b"\n" + PING % 7, None)
    assert (search.phase and search.phase.words) == words


def test_a_phase_lasts_until_its_end_and_is_known_by_its_last_time() -> None:
    search, start = PhaseSearch(), b"[2026-11-28 %s:01:00] Timer update start\n"
    search.feed(start % b"10", None)
    search.feed(b"Timer update end (elapsed: 61.5s)\n", None)
    assert search.phase is None
    search.feed(start % b"11", None)
    for n in range(30):
        search.feed(PING % n, None)
    assert search.phase == Phase("update", "11:01", usual_s=61.5)
    search.feed(ROW, len(ROW))
    assert search.phase is None, "a row is what it was for"


def test_a_bar_that_moves_began_when_it_was_first_seen() -> None:
    search = PhaseSearch()
    for minute in range(4):
        search.feed(b"[10:%02d:00] evaluating %d of 16\r" % (minute, minute), None)
    assert search.phase == Phase("evaluating", "10:00", 3, 16)


def test_the_tail_of_a_log_tells_the_phase_behind_many_pings() -> None:
    start = b"[2026-11-28 15:48:15] Timer actor_train start\n"
    pings = b"".join(PING % n for n in range(900))
    tail = ConsoleDecoder().feed(3 * ROW + start + pings, more=False).tail
    assert tail.phase == Phase("actor_train", "15:48")
    assert all(b"Timer" not in line.encode() for line in tail.lines)

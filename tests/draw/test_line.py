"""Lines of styled text."""

from rltui.draw.line import MUTED, TEXT, ascii_line, fit_line, plain


def test_columns_stay_where_they_are_in_ascii() -> None:
    line = fit_line([("limit ≤ 0.2   ", TEXT), ("± 3  ", MUTED), ("now", TEXT)], 30)
    assert plain(ascii_line(line)) == "limit <= 0.2  +- 3 now" + " " * 8
    # without blanks behind it a text gets wider
    assert plain(ascii_line([("0.1≤", TEXT), ("x", TEXT)])) == "0.1<=x"

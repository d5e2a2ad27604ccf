"""How readable colours are."""

from rltui.draw.theme import rgb


def luminance(colour: str) -> float:
    """Relative luminance (WCAG), 0 to 1."""
    red, green, blue = (
        c / 3294.6 if c <= 10 else ((c / 255 + 0.055) / 1.055) ** 2.4 for c in rgb(colour)
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """Contrast of two colours (WCAG), 1 to 21."""
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)

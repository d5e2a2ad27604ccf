"""Building blocks of all output: numbers, sentences, glyphs, styled lines, sparklines, themes."""

"""What every picture is made of: numbers, glyphs, styled lines, sparklines, themes."""

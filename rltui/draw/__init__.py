"""Lines of styled cells: glyphs, themes, tables, charts. Knows nothing of Textual."""

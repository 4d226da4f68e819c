"""Results as tables: `rich` on a terminal, aligned text in a pipe, HTML in a notebook."""

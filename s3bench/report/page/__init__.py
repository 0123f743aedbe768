"""The HTML page: sections of figures and tables, drawn to still pictures, in one file that needs no network."""

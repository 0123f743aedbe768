"""The results of a load run as text, CSV and the lines of other tools."""

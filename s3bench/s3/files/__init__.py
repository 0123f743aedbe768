"""Files below one directory, opened safely and kept open while they are served."""

"""Results documents made readable: one file per format. Pure: each renders text and writes nothing."""

"""`s3bench report`: its inputs, its command, and the page."""

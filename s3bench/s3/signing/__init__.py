"""AWS Signature Version 4: how requests are signed, and whether a signature is right."""

"""`python -m s3bench`: the same as the command `s3bench`."""

from s3bench.cli.main import main

if __name__ == "__main__":
    main()

#!/bin/sh
# Finds the client and the settings that upload files of 64 MiB fastest over a slow link, in three minutes.
# Replace --network by --endpoint-url URL --bucket NAME to tune for a real endpoint.
set -eu
s3bench tune upload --size 64MiB --network ttfb=60ms,bandwidth=15MB/s,nic=250MB/s \
    --clients boto3-classic,s5cmd --budget 3m --study tune.jsonl --markdown tune.md
s3bench report tune.jsonl -o tune.html

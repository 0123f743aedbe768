#!/bin/sh
# Finds the settings that upload the files of ./folder fastest over a slow link, in three minutes.
# Replace --network by --endpoint-url URL --bucket NAME to tune for a real endpoint.
set -eu
s3bench tune upload ./folder --network ttfb=60ms,bandwidth=15MB/s,nic=250MB/s \
    --clients boto3-classic,s5cmd --budget 3m --study folder.jsonl

"""An in-memory S3 behind the same server as the stub: buckets, objects, versions, multipart uploads.

Read it in the order of a request: `addressing` and `operation` tell what is asked, `receiving` takes the body into
`memory`, `buckets`, `objects` and `uploads` do it on the `store`, `documents` renders what is said back; `handler` is
the door. Network behaviour is `s3bench.s3.network`'s, signatures are `s3bench.s3.signing`'s.
"""

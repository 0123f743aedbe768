"""An in-memory S3 behind the same server as the stub: buckets, objects, versions, multipart uploads.

In the order of a request: `handler` takes it, `operation` recognises what is asked, `receiving` takes the body into
`memory`, `reading`, `writing`, `buckets` and `uploads` do it on the `store`, and `documents` renders the response.
"""

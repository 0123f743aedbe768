"""Finds, installs and configures the clients under test, and points them at an endpoint.

The data's path: `client` (what was found) <- `finding` <- `store` <- `installing` (`package`, `index`);
`invocation` makes the command line out of `awsconfig`, `environment` and `driver`; `probes` runs inside the client.
"""

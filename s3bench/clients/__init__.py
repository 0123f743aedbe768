"""The clients under test: found, installed, configured and pointed at an endpoint.

The data's path: `client` (what was found) <- `finding` <- `store` <- `installing` (`index`, `archive`);
`invocation` makes the command line out of `awsconfig`, `environment` and `driving`; `probes` runs inside the client.
"""

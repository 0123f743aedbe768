"""One worker's side of a load: virtual users, connections, requests and what is recorded of them."""

"""The HTTP handlers, a module per resource: they read the request, ask, and shape the answer."""

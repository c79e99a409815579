"""The service over HTTP: types, errors, roles, routes."""

"""Model calls: the gateway, its backends, prices and the ledger. Importing the package imports no HTTP client."""

"""The interface's tables, restated once; the client reads them, the sandbox produces them."""

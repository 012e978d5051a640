"""Show that pages and commands take no longer when a million payments lie behind them."""

"""A site with `payments_pages`, as its quickstart sets it up; every setting is the default."""

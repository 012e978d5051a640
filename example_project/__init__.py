"""Show `payments_pages` at work: a small shop that sells licences and tickets."""

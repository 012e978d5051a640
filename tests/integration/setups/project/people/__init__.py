"""Users of the site's own: a UUID as key, an e-mail address as login."""

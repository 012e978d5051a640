"""Find wrong settings before a payer does. One function a theme; no check asks the database."""

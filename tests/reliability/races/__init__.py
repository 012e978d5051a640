"""Many processes on one database: races, kills, and the control that shows the tests can fail."""

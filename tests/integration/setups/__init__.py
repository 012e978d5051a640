"""The app in other people's projects: one small site per set-up, and one story told to each over HTTP.

`rows` is the table of set-ups, `project` the site that each row makes another of, `story` what payers
and staff do there. `python -m tests.integration.setups --write` writes the table in `docs/setups.md`.
"""

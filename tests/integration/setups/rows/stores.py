"""Databases: more than one, and what drivers and options of PostgreSQL change."""

from tests.integration.setups.setup import Setup

__all__ = ["ROWS"]

ROUTERS = "tests.integration.routing.routers"

ROWS = (
    Setup(
        name="own database",
        special="A router keeps our tables, and what is sold, in a database of their own.",
        holds="Everything: each guard is set there.",
        settings={
            "DATABASES": {"payments": {}},
            "DATABASE_ROUTERS": [f"{ROUTERS}.OwnAlias"],
        },
        database="payments",
    ),
    Setup(
        name="read replica",
        special="A router sends reads to a replica, which takes no write.",
        holds="Everything: what protects money is read from the primary.",
        settings={
            "DATABASES": {"replica": {"REPLICA_OF": "default"}},
            "DATABASE_ROUTERS": [f"{ROUTERS}.ReadsFromReplica"],
        },
    ),
    Setup(
        name="psycopg2",
        special="PostgreSQL by psycopg2, without psycopg 3.",
        holds="Everything.",
        driver="psycopg2",
        postgresql=True,
        needs=("psycopg2",),
    ),
    Setup(
        name="server-side binding",
        special="psycopg 3 with `server_side_binding`.",
        holds="Everything.",
        settings={"DATABASES": {"default": {"OPTIONS": {"server_side_binding": True}}}},
        driver="psycopg",
        postgresql=True,
        needs=("psycopg",),
    ),
    Setup(
        name="Django's pool",
        special="psycopg 3 with Django's own `pool` of two to four connections.",
        holds="Everything; a door gives its connection back with its answer.",
        settings={"DATABASES": {"default": {"OPTIONS": {"pool": {"min_size": 2, "max_size": 4}}}}},
        driver="psycopg",
        postgresql=True,
        needs=("psycopg", "psycopg_pool"),
    ),
)

"""The tables of the store. Times are seconds since 1970 in UTC; columns marked JSON hold text written by `codec`."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa

SCHEMA = 1
SCHEMA_KEY = "skynet_schema"

metadata = sa.MetaData()

meta = sa.Table(
    "meta",
    metadata,
    sa.Column("key", sa.Text, primary_key=True),
    sa.Column("value", sa.Text, nullable=False),
)

runs = sa.Table(
    "runs",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, nullable=False, unique=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("spec", sa.Text, nullable=False),  # JSON
    sa.Column("fingerprint", sa.Text, nullable=False),  # JSON
    sa.Column("state", sa.Text, nullable=False),  # JSON: what the driver must find again, such as the first plan
    sa.Column("status", sa.Text, nullable=False),
    sa.Column("finish_reason", sa.Text),
    sa.Column("started_at", sa.Float, nullable=False),
    sa.Column("ended_at", sa.Float),
    sa.Column("result", sa.Text),  # JSON
    sqlite_autoincrement=True,  # a deleted run's number is never given to another run
)

versions = sa.Table(
    "versions",
    metadata,
    sa.Column("run", sa.Integer, primary_key=True),
    sa.Column("id", sa.Text, primary_key=True),
    sa.Column("number", sa.Integer, nullable=False),  # 0 is the start
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("content", sa.Text, nullable=False),  # JSON
    sa.Column("parent", sa.Text),
    sa.Column("note", sa.Text, nullable=False),  # JSON: a model wrote it
    sa.Column("at", sa.Float, nullable=False),
    sa.UniqueConstraint("run", "number"),
)


def _journal_columns() -> list[sa.Column[Any]]:
    """Columns that both kinds of request share. A row without `ended_at` was in flight when its process ended."""
    return [
        sa.Column("run", sa.Integer, primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("key", sa.Text, nullable=False),
        sa.Column("reserved", sa.Text, nullable=False),  # JSON
        sa.Column("begun_at", sa.Float, nullable=False),
        sa.Column("ended_at", sa.Float),
        sa.Column("body", sa.Text),  # JSON
        sa.Column("version", sa.Text),
        sa.Column("case_id", sa.Text),
        sa.Column("status", sa.Text),
        sa.Column("cost_usd", sa.Float),
    ]


evaluations = sa.Table(
    "evaluations",
    metadata,
    *_journal_columns(),
    sa.Column("case_hash", sa.Text),
    sa.Column("repetition", sa.Integer),
    sa.Column("split", sa.Text),
    sa.Column("failure", sa.Text),
    sa.Column("score", sa.Float),
    sa.Column("elapsed_ms", sa.Float),
)
# Only for "test seen n times"; partial, so that the search's rows never touch it.
sa.Index(
    "tested_cases",
    evaluations.c.case_hash,
    evaluations.c.run,
    sqlite_where=evaluations.c.split == "test",
    postgresql_where=evaluations.c.split == "test",
)

model_calls = sa.Table(
    "model_calls",
    metadata,
    *_journal_columns(),
    sa.Column("role", sa.Text),
    sa.Column("model", sa.Text),
    sa.Column("scope", sa.Text),
    sa.Column("prompt_tokens", sa.Integer),
    sa.Column("completion_tokens", sa.Integer),
    sa.Column("latency_ms", sa.Float),
)

events = sa.Table(
    "events",
    metadata,
    sa.Column("run", sa.Integer, primary_key=True),
    sa.Column("seq", sa.Integer, primary_key=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("kind", sa.Text, nullable=False),
    sa.Column("version", sa.Text),
    sa.Column("reason", sa.Text),  # JSON: a model's words may stand in it
    sa.Column("details", sa.Text, nullable=False),  # JSON
    sa.Column("key", sa.Text),
    sa.UniqueConstraint("run", "key"),
)

OF_A_RUN = (versions, evaluations, model_calls, events)

"""Alembic's entry: runs on the connection that `hedgerow.proxy.audit.engine` hands over."""

from alembic import context

from hedgerow.proxy.audit.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()

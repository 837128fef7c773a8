"""Commands on the audit store: figures, lists, files in and out, verification, retention."""

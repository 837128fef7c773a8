"""Same meaning or not: the partition of the samples."""

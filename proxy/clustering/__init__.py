"""Same meaning: the partition of the samples, and the support of claims."""

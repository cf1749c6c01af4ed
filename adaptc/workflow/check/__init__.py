"""Whether trees are fresh, whole and within their budgets, for pipelines (``adaptc check``)."""

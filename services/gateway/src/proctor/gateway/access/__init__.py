"""Who asks, for which workspace, and what that allows."""

"""What a workspace may spend: whether it may at all, and how much by run and by month."""

"""The wire protocol of the public `osmosis` command, under `/api/cli`."""

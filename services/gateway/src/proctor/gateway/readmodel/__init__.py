"""What the gateway reads of the leaderboard service: the SQL on its `api_*` views, and the JSON shapes of the rows."""

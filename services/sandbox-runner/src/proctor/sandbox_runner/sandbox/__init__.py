"""Where an attempt runs: one protocol, a Docker and a bubblewrap back end."""

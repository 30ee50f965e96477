"""A whole installation on one machine: embedded NATS and PostgreSQL, and every service as a supervised child."""

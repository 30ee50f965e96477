"""What every service is wired with: settings, logs, the bus, the database, health, errors."""

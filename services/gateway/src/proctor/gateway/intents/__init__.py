"""What users ask for, appended to the log. What an event refers to is stored before it."""

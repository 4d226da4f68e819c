"""Takes rights away from a process that reads what strangers made."""

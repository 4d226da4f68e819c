"""What commands that look ask of the store, answered from the event log alone, without SQL."""

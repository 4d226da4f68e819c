"""What frameworks make of whole models: how long they take, call by call."""

"""Publishing: from model files and listings of zoos to the events that services take."""

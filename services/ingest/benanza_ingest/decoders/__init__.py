"""Today's decoders, of their published sizes, as models without weights."""

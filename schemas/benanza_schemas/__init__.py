"""The contract between publishers, services and stores: events, layers, identity, tables."""

"""Makes layers of a graph's nodes, with identity and costs."""

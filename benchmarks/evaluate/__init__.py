"""Models under load: MLPerf's scenarios in frameworks, and the simulated server beside the real."""

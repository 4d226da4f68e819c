"""Element-wise operators as statements of C for one generated kernel."""

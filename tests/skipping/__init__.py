"""What tests are skipped for want of, and how that is said."""

"""What a layer computes, as programs that stand alone."""

"""What is seen of a runner's GPU and of its measurements from outside, by Prometheus."""

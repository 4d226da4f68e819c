"""How long frameworks take for whole models on a CPU, beside their bounds."""

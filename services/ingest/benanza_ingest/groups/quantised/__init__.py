"""Groups of operators between DequantizeLinear and QuantizeLinear, which run on the integers."""

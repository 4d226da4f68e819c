"""The figures of a report that Plotly draws."""

"""`benanza evaluate`: a model in a framework under the load of a scenario of MLPerf's LoadGen."""

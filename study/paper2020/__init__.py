"""What was published with Benanza's paper (Li et al., IPDPS 2020), as measurements of a system."""

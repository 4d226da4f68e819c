"""How kernels are compiled for this machine's processor."""

COMPILER = "c++ -w -shared -fPIC -pipe -std=c++17 -nostdinc++ -nodefaultlibs -U_GNU_SOURCE".split()
"""Without what C++ and GNU have beside C, which kernels don't use, and which takes longer to read
than a kernel. Source, `-o` library and `LINKED` come behind it.
"""

LINKED = ("-lm", "-lgcc")
"""Functions of C, and conversions of `_Float16`."""

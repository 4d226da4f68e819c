"""Work in a process of its own, which may crash, hang, or be taken over by what it reads.

Both sides speak in frames of bytes over a socket, and each service decodes these into structures of
its own. Nothing is unpickled. No client of a log or a store is imported: a runner on a bare GPU
machine has none.
"""

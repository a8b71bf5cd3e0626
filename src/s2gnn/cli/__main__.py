"""`python -m s2gnn.cli`, the same as the command `s2gnn`."""

from s2gnn.cli import main

try:
    main()
finally:
    # Under -m, CPython exits by the signal, whatever the exit code, if Ctrl-C arrived while it ran code from a string,
    # as torch does during its import. Running another string clears that state.
    exec("")

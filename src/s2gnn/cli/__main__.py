"""`python -m s2gnn.cli`, the same as the command `s2gnn`."""

from s2gnn.cli import main

try:
    main()
finally:
    # Under -m, CPython ends by the signal, whatever the exit code, if Ctrl-C came while code was run from a string, as
    # torch does when it imports a part of itself. Running another string makes it forget that.
    exec("")

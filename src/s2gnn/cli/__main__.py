"""`python -m s2gnn.cli`, the same as the command `s2gnn`."""

from s2gnn.cli import main

main()

"""`python -m sfumato`: the command line, where its script is not on the path."""

from sfumato.apps.cli import main

if __name__ == "__main__":
    main()

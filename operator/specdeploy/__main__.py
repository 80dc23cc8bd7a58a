"""`python -m specdeploy`."""

from specdeploy.cli.main import main

if __name__ == "__main__":
    main()
